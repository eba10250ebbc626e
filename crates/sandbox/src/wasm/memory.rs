//! The memory limit of one run: all linear memories of the instance together, counted as they grow.
//!
//! A refused growth is not an error by itself: the interpreter turns it into its own "out of memory", which the
//! program may handle. That it happened is remembered, because it explains how a failed program ended.

use wasmtime::ResourceLimiter;

/// Table entries that one run may have; the interpreters need a few ten thousand.
const MAX_TABLE_ENTRIES: usize = 200_000;

/// Memory of one run.
#[derive(Debug)]
pub(crate) struct MemoryLimit {
    limit: usize,
    used: usize,
    refused: bool,
}

impl MemoryLimit {
    /// A limit of so many bytes.
    pub(crate) fn new(bytes: u64) -> Self {
        Self { limit: usize::try_from(bytes).unwrap_or(usize::MAX), used: 0, refused: false }
    }

    /// Whether the program was ever refused memory.
    pub(crate) fn refused(&self) -> bool {
        self.refused
    }
}

impl ResourceLimiter for MemoryLimit {
    fn memory_growing(&mut self, current: usize, desired: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        let used = self.used.saturating_add(desired.saturating_sub(current));
        let allowed = used <= self.limit;
        if allowed {
            self.used = used;
        } else {
            self.refused = true;
        }
        Ok(allowed)
    }

    fn memory_grow_failed(&mut self, _: wasmtime::Error) -> wasmtime::Result<()> {
        self.refused = true;
        Ok(())
    }

    fn table_growing(&mut self, _: usize, desired: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        Ok(desired <= MAX_TABLE_ENTRIES)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use wasmtime::ResourceLimiter;

    use super::MemoryLimit;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(100))]

        #[test]
        fn two_memories_never_exceed_the_limit(steps in prop::collection::vec((any::<bool>(), 0..1000usize), 0..50)) {
            let mut limit = MemoryLimit::new(10_000);
            let mut sizes = [0usize; 2];
            for (which, more) in steps {
                let size = &mut sizes[usize::from(which)];
                let allowed = limit.memory_growing(*size, *size + more, None).unwrap();
                if allowed {
                    *size += more;
                } else {
                    prop_assert!(limit.refused());
                }
                prop_assert!(sizes.iter().sum::<usize>() <= 10_000);
            }
        }
    }
}
