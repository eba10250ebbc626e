//! The REST surface over a real store, called through the router without a socket; the listener over one.

mod access;
mod credentials;
mod executions;
mod fuzz;
mod harness;
mod http;
mod install;
mod keys;
mod listener;
mod settings;
mod skills;
