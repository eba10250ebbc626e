//! The built program from outside: a strict fake upstream behind it, a linter on every stream.

mod client;
mod matrix;
mod robustness;
