//! What a fake upstream's model says: rounds in order, or chosen by a function of the request.
//!
//! A script is written in Rust or read from JSON (the same names, `delay_ms` and the like). It knows no wire
//! format and never checks a request; that is the fake upstream's part.

mod fault;
mod round;

use std::fmt;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;

pub use fault::{Chunking, Fault};
pub use round::{Call, Round, Thinking, Usage};

/// Chooses a round from the request's body and the round's index in the turn (0 first).
pub type Choice = Arc<dyn Fn(&Value, usize) -> Round + Send + Sync>;

/// Everything that one fake upstream answers.
#[derive(Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Script {
    /// The rounds of every turn that no case takes. Beyond the end the last one is repeated.
    pub rounds: Vec<Round>,
    /// Rounds of turns with a certain user text; the first case that fits is taken.
    pub cases: Vec<Case>,
    /// Accept only call ids of nine letters or digits, as Mistral does, and make such ids.
    pub mistral_ids: bool,
    /// The credential that must arrive; absent: any.
    pub require_key: Option<String>,
    /// What the model says where the script wants calls but the request forbids them.
    pub without_tools: Option<String>,
    /// Overrules `rounds` and `cases`. Not in the JSON form.
    #[serde(skip)]
    pub choice: Option<Choice>,
}

/// Rounds of the turns whose last user text contains a text.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// What the last user text must contain.
    pub user_says: String,
    /// The rounds, as in [`Script::rounds`].
    pub rounds: Vec<Round>,
}

impl Script {
    /// These rounds, in order, in every turn.
    pub fn rounds(rounds: impl IntoIterator<Item = Round>) -> Self {
        Self { rounds: rounds.into_iter().collect(), ..Self::default() }
    }

    /// Script S2: the model calls one tool, then says `done`.
    pub fn s2(tool: &str, arguments: Value) -> Self {
        Self::rounds([Round::calls([Call::new(tool, arguments)]), Round::text("done")])
    }

    /// Rounds that a function chooses.
    pub fn choose(choice: impl Fn(&Value, usize) -> Round + Send + Sync + 'static) -> Self {
        Self { choice: Some(Arc::new(choice)), ..Self::default() }
    }

    /// Reads the JSON form. Unknown members are errors.
    pub fn from_json(text: &[u8]) -> Result<Self, serde_json::Error> {
        serde_json::from_slice(text)
    }

    /// Adds a case for turns whose last user text contains `user_says`.
    #[must_use]
    pub fn when(mut self, user_says: &str, rounds: impl IntoIterator<Item = Round>) -> Self {
        self.cases.push(Case { user_says: user_says.to_owned(), rounds: rounds.into_iter().collect() });
        self
    }

    /// Turns the nine-character rule for call ids on.
    #[must_use]
    pub fn with_mistral_ids(mut self) -> Self {
        self.mistral_ids = true;
        self
    }

    /// Refuses every request that does not carry this credential.
    #[must_use]
    pub fn requiring_key(mut self, key: &str) -> Self {
        self.require_key = Some(key.to_owned());
        self
    }

    /// The round to answer with, and the place of it (case, index) for counting attempts.
    pub fn pick(&self, body: &Value, user_text: &str, index: usize) -> (Round, (usize, usize)) {
        if let Some(choice) = &self.choice {
            return (choice(body, index), (usize::MAX, index));
        }
        let case = self.cases.iter().position(|case| user_text.contains(&case.user_says));
        let rounds = case.and_then(|at| self.cases.get(at)).map_or(&self.rounds, |case| &case.rounds);
        let at = index.min(rounds.len().saturating_sub(1));
        (rounds.get(at).cloned().unwrap_or_default(), (case.map_or(0, |at| at + 1), at))
    }
}

impl fmt::Debug for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Script")
            .field("rounds", &self.rounds)
            .field("cases", &self.cases)
            .finish_non_exhaustive()
    }
}

impl From<Vec<Round>> for Script {
    fn from(rounds: Vec<Round>) -> Self {
        Self::rounds(rounds)
    }
}
