//! What to do about a program that did not end well, in words for the model or person that wrote it.

use super::protocol::Done;
use crate::{Language, Reason};

/// A hint for an outcome, if there is something to say.
pub(crate) fn hint(language: Language, done: &Done) -> Option<String> {
    let text = match done.reason {
        Reason::Unsupported => unsupported(language, done.missing.as_deref().unwrap_or("a feature")),
        Reason::Timeout => {
            "The time limit was reached. Do less work, or raise the limit if you may.".to_owned()
        }
        Reason::Oom => {
            "The memory limit was reached. Work in smaller pieces, or raise the limit if you may.".to_owned()
        }
        Reason::OutputLimit => {
            "The program was stopped because it printed far more than is kept. Print a summary instead."
                .to_owned()
        }
        Reason::EngineError => "The interpreter itself crashed. Write the program in another way.".to_owned(),
        Reason::Ok | Reason::Nonzero => return None,
    };
    Some(text)
}

fn unsupported(language: Language, missing: &str) -> String {
    let has = match language {
        Language::JavaScript => {
            "plain ECMAScript (QuickJS) with console, print, readStdin() and exit(code): no Node or browser API, no \
             modules, no timers"
        }
        Language::Python => {
            "CPython with its standard library only: no installed packages, files, sockets, processes or threads"
        }
    };
    format!(
        "The program needs {missing}, which the wasm engine does not have; for {} it is {has}. Do without it, or ask \
         for a container engine (engine: \"container\").",
        language.display_name()
    )
}
