//! What ran: rows of the history, read.

use domain::Execution;
use store::{ExecutionFilter, Page, PageRequest, StoreError};

use crate::executor::Executor;

impl Executor {
    /// One row.
    pub async fn get_execution(&self, id: &str) -> Result<Option<Execution>, StoreError> {
        self.shared.store.execution(id).await
    }

    /// One page, newest first.
    pub async fn list_executions(
        &self,
        filter: &ExecutionFilter,
        page: PageRequest,
    ) -> Result<Page<Execution>, StoreError> {
        self.shared.store.executions(filter, page).await
    }

    /// How many rows there are.
    pub async fn count_executions(&self, filter: &ExecutionFilter) -> Result<u64, StoreError> {
        Ok(self.shared.store.executions(filter, PageRequest { page: 1, limit: 1 }).await?.total)
    }
}
