//! What every [`store::Database`] must do, as cases that run on any implementation.
//!
//! `testkit::store_contract!(crate::fresh)` makes one test of each case. `fresh` is an async function without
//! arguments that returns the [`Place`] of an empty database as an `Option<Box<dyn Place>>`; without one (no server is
//! there) the case is skipped. Cases know nothing of the database behind the trait.
#![expect(
    clippy::unwrap_used,
    clippy::assigning_clones,
    clippy::indexing_slicing,
    reason = "a case is the body of a test"
)]

pub mod approvals;
pub mod artifacts;
pub mod audit;
pub mod builtins;
pub mod changes;
pub mod claims;
pub mod concurrency;
pub mod executions;
pub mod history;
pub mod instances;
pub mod kept;
pub mod keys;
pub mod retention;
pub mod sample;
pub mod sets;
pub mod skills;
pub mod tokens;
pub mod transfer;
pub mod turns;
pub mod usage;

use std::sync::Arc;
use std::time::Duration;

/// A database, and a way to open it as one more process would. Dropping it removes it.
#[async_trait::async_trait]
pub trait Place: Send + Sync {
    /// Opens it. The process that opened it dies when the last `Arc` is dropped.
    async fn open(&self) -> Arc<dyn store::Database>;
}

/// How long cases wait for what another process has to notice.
const PATIENCE: Duration = Duration::from_secs(20);

/// One `#[tokio::test]` for each case of the contract, in modules named like the files of the cases. The path must
/// be absolute (`crate::...`).
#[macro_export]
macro_rules! store_contract {
    ($fresh:path) => {
        $crate::store_contract! { @cases $fresh;
            skills {
                what_is_inserted_is_what_is_loaded
                the_same_identity_twice_is_a_conflict
                replacing_keeps_id_creation_time_and_install_count
                the_switches_follow_the_state_table
                an_update_changes_only_what_it_names
                an_update_of_enabled_and_mode_applies_enabled_first
                absent_and_default_are_different_updates
                unknown_skills_are_not_found
                deleting_a_skill_keeps_its_history
            }
            builtins {
                syncing_twice_changes_nothing
                a_sync_updates_the_definition_and_keeps_the_switches
                a_sync_removes_what_is_no_longer_shipped
                a_sync_takes_a_reserved_name_over
                a_sync_leaves_other_owners_alone
            }
            executions {
                a_whole_life
                a_refused_call_is_written_terminal
                finishing_twice_keeps_the_first_end
                starting_needs_a_pending_row
                only_terminal_statuses_finish
                the_same_id_twice_is_a_conflict
                interrupting_ends_open_rows_only
                null_and_absent_outputs_differ
            }
            history {
                newest_first_in_pages
                newest_is_by_time
                a_cursor_goes_through_all_of_it_once
                a_cursor_takes_filters_and_ends
                every_filter_restricts
                filters_combine
                times_compare_as_times
                pages_out_of_range_are_empty_or_clamped
            }
            keys {
                a_key_is_found_by_its_hash
                keys_are_listed_newest_first
                ids_and_hashes_are_unique
                an_update_changes_only_what_it_names
                rotation_replaces_the_secret
                revocation_is_for_good
                deleted_keys_are_gone_and_unknown_ones_not_found
                touching_notes_the_time
                settings_are_kept_whole_and_replaced_whole
                values_are_set_and_replaced
            }
            kept {
                what_is_kept_is_found_by_every_key
                nobody_else_finds_it
                a_key_leads_to_the_last_rounds_and_what_no_key_leads_to_is_gone
                some_keys_lead_to_any_session
                what_is_not_used_expires_and_leaves_its_trace
                what_is_used_lives_on
                the_least_recently_used_make_room
                pruning_goes_in_batches
                odd_keys_are_only_text
            }
            approvals {
                a_waiting_row_is_whole_and_found_by_its_call
                a_waiting_row_neither_starts_nor_ends_by_itself
                an_approval_lets_it_run_with_the_input_it_gives
                a_denial_ends_it
                one_of_many_decides
                an_outcome_is_taken_once
                what_waits_too_long_is_found
                a_restart_leaves_waiting_rows_alone
                only_waiting_approvals_wait_and_only_decisions_decide
            }
            claims {
                one_of_many_takes_a_claim
                an_expired_claim_can_be_taken_anew
                pruning_forgets_expired_claims_alone
                a_claim_without_its_row_is_not_taken
                a_claim_is_taken_for_a_row_that_is_there
            }
            concurrency {
                two_hundred_writers_lose_nothing
                one_of_many_wins_an_identity
                one_of_many_ends_an_execution
                every_acknowledged_write_is_seen
            }
            turns {
                a_record_comes_back_whole
                pages_are_newest_first_without_details
                every_filter_restricts
                the_same_id_twice_is_a_conflict
            }
            usage {
                turns_add_up_by_key_model_and_day
                executions_add_up_by_skill
                bounds_of_time_and_owner_restrict
                spending_counts_from_a_time_on
                huge_numbers_do_not_fail
            }
            artifacts {
                what_is_put_is_what_is_found
                those_of_an_execution_come_in_order
                the_same_id_twice_is_a_conflict
            }
            audit {
                entries_come_back_whole_and_newest_first
                every_filter_restricts
                what_was_written_stays
            }
            sets {
                a_set_is_written_over_and_keeps_its_creation
                sets_and_defaults_load_with_the_skills
                unknown_sets_and_defaults_are_not_found
            }
            tokens {
                a_token_is_found_by_its_hash
                names_ids_and_hashes_are_unique
                deleted_tokens_are_gone
                touching_notes_the_time
            }
            retention {
                what_is_old_goes_in_batches
                the_newest_stay
                what_has_not_ended_stays
                approvals_claims_and_artifacts_go_with_their_execution
                artifacts_go_by_their_own_age
                bytes_are_bounded
                bytes_are_those_of_executions
                nothing_is_asked_and_nothing_goes
                space_is_given_back_until_there_is_none
            }
        }
        $crate::store_contract! { @places $fresh;
            instances {
                rows_of_the_dead_are_ended_and_those_of_the_living_stay
                what_waits_for_a_person_outlives_its_process
                who_starts_a_row_owns_it
                rows_of_nobody_are_orphans
                renewing_without_registering_is_no_error
            }
            changes {
                a_change_of_another_process_is_seen
                own_changes_are_not
                notes_of_use_are_no_change
            }
            transfer {
                every_table_moves_whole
                rows_come_in_pages
                what_is_here_stays_as_it_is
                a_row_that_does_not_fit_writes_nothing
                nothing_derived_is_lost
            }
        }
    };
    (@cases $fresh:path; $($module:ident { $($case:ident)* })*) => {
        $(mod $module {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $case() {
                let Some(place) = $fresh().await else { return };
                $crate::store_contract::$module::$case(place.open().await).await;
            })*
        })*
    };
    (@places $fresh:path; $($module:ident { $($case:ident)* })*) => {
        $(mod $module {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $case() {
                let (Some(one), Some(two)) = ($fresh().await, $fresh().await) else { return };
                $crate::store_contract::$module::$case(one, two).await;
            })*
        })*
    };
}
