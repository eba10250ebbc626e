//! Which models of one upstream are not to be offered tools: by configuration, or because they refused them.
//!
//! A refusal is remembered for ten minutes and in this process only: a model may learn tools, and one request that
//! is sent twice costs little.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use globset::GlobMatcher;
use registry::SkipReason;
use tokio::time::Instant;

/// How long a refusal counts.
const REMEMBERED: Duration = Duration::from_mins(10);
/// Models that are remembered at once; a client chooses the names, so there is an end to them.
const MODELS: usize = 256;

pub(super) struct ToolSupport {
    never: Vec<GlobMatcher>,
    refused: Mutex<HashMap<String, Instant>>,
}

impl ToolSupport {
    pub(super) fn new(never: Vec<GlobMatcher>) -> Self {
        Self { never, refused: Mutex::default() }
    }

    pub(super) fn unwanted(&self, model: &str) -> Option<SkipReason> {
        if self.never.iter().any(|glob| glob.is_match(model)) {
            return Some(SkipReason::NoTools);
        }
        let refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        let at = refused.get(model)?;
        (at.elapsed() < REMEMBERED).then_some(SkipReason::ToolsRefused)
    }

    pub(super) fn note_refused(&self, model: &str) {
        let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        refused.retain(|_, at| at.elapsed() < REMEMBERED);
        if refused.len() < MODELS {
            refused.insert(model.to_owned(), Instant::now());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_glob_counts_always() {
        let support = ToolSupport::new(vec![globset::Glob::new("o1-*").unwrap().compile_matcher()]);
        assert_eq!(support.unwanted("o1-mini"), Some(SkipReason::NoTools));
        assert_eq!(support.unwanted("o1"), None);
    }

    #[tokio::test(start_paused = true)]
    async fn a_refusal_counts_for_ten_minutes_and_for_one_model() {
        let support = ToolSupport::new(Vec::new());
        support.note_refused("a");
        assert_eq!(support.unwanted("a"), Some(SkipReason::ToolsRefused));
        assert_eq!(support.unwanted("b"), None);
        tokio::time::advance(REMEMBERED.saturating_sub(Duration::from_secs(1))).await;
        assert_eq!(support.unwanted("a"), Some(SkipReason::ToolsRefused));
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(support.unwanted("a"), None);
    }

    #[test]
    fn made_up_names_do_not_fill_the_memory() {
        let support = ToolSupport::new(Vec::new());
        (0..MODELS * 2).for_each(|n| support.note_refused(&n.to_string()));
        assert_eq!(support.refused.lock().unwrap().len(), MODELS);
    }
}
