//! First credentials: the management token, and the first API key of a gateway that is not on a loopback address.
//!
//! Secrets are made here, printed once by the command line, and kept only as hashes.

use anyhow::{Result, ensure};
use domain::{KeySettings, Scope, ids};
use server::{hash_secret, new_secret};
use store::{NewKey, Store};

/// Where the hash of the token is kept.
const TOKEN_HASH: &str = "management_token_sha256";
/// Least characters of a token that the operator chooses.
const TOKEN_CHARS: usize = 16;

/// Where the management token comes from.
pub(crate) enum Token {
    /// Made now.
    Made(String),
    /// From the environment.
    Given,
    /// Made at an earlier start.
    Known,
}

/// The token's hash, and where it comes from.
pub(crate) async fn management_token(store: &dyn Store, given: Option<&str>) -> Result<(String, Token)> {
    if let Some(token) = given {
        ensure!(token.len() >= TOKEN_CHARS, "OMNI_SKILLS_MGMT_TOKEN needs at least {TOKEN_CHARS} characters");
        return Ok((hash_secret(token), Token::Given));
    }
    if let Some(hash) = store.value(TOKEN_HASH).await? {
        return Ok((hash, Token::Known));
    }
    let token = new_secret("omt_")?;
    store.set_value(TOKEN_HASH, &hash_secret(&token)).await?;
    Ok((hash_secret(&token), Token::Made(token)))
}

/// Makes a new token in place of the one that was made at the first start.
pub(crate) async fn reset_token(store: &dyn Store) -> Result<String> {
    let token = new_secret("omt_")?;
    store.set_value(TOKEN_HASH, &hash_secret(&token)).await?;
    Ok(token)
}

/// Makes the first API key, if there is none yet.
pub(crate) async fn first_key(store: &dyn Store) -> Result<Option<String>> {
    if !store.keys().await?.is_empty() {
        return Ok(None);
    }
    let key = new_secret("osk_")?;
    let row = NewKey {
        id: ids::new_id(),
        name: "first key".to_owned(),
        secret_hash: hash_secret(&key),
        scopes: Scope::DEFAULT.to_vec(),
        custom_skill_execution_enabled: true,
        settings: KeySettings::default(),
        created_at: jiff::Timestamp::now().to_string(),
    };
    store.create_key(row).await?;
    Ok(Some(key))
}
