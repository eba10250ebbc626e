//! What every [`store::Store`] must do, as cases that run on any implementation.
//!
//! `testkit::store_contract!(crate::fresh)` makes one test of each case. `fresh` is an async function without
//! arguments that returns an empty `Arc<dyn Store>` and something to keep alive while the case runs (a temporary
//! folder). Cases know nothing of the database behind the trait.
#![expect(
    clippy::unwrap_used,
    clippy::assigning_clones,
    clippy::indexing_slicing,
    reason = "a case is the body of a test"
)]

pub mod approvals;
pub mod builtins;
pub mod claims;
pub mod concurrency;
pub mod executions;
pub mod history;
pub mod kept;
pub mod keys;
pub mod sample;
pub mod skills;

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
        }
    };
    (@cases $fresh:path; $($module:ident { $($case:ident)* })*) => {
        $(mod $module {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $case() {
                let (store, _keep) = $fresh().await;
                $crate::store_contract::$module::$case(store).await;
            })*
        })*
    };
}
