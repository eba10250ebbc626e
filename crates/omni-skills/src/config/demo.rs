//! `[demo]`: the built-in stand-in for a model.

use super::section::section;

section! {
    /// `[demo]`
    Demo {
        /// Whether the model `demo` is answered by the built-in stand-in.
        enabled: bool = true, Live;
    }
}
