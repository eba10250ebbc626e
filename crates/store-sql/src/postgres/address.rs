//! Reads the address of a database: what the driver understands, and the TLS words of libpq on top of it.
//!
//! Nothing here is ever shown: an address holds a password.

use std::path::PathBuf;
use std::time::Duration;

use percent_encoding::percent_decode_str;
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};

use super::error::PgError;

/// Time to reach a server, unless the address says otherwise.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Silence after which the other end is asked whether it is still there, and time until it counts as gone.
const KEEPALIVE: Duration = Duration::from_secs(15);
const UNACKNOWLEDGED: Duration = Duration::from_secs(30);

/// How much of a server's certificate is checked. The words and their meanings are libpq's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Check {
    /// Nothing: the connection is encrypted, whoever is at its other end.
    Nothing,
    /// That a known authority signed it.
    Authority,
    /// That and that it is the server's own.
    Name,
}

/// Authorities that certificates are checked against.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Roots {
    /// Those of the operating system.
    System,
    /// Those in a PEM file.
    File(PathBuf),
}

/// An address, read.
pub(super) struct Address {
    pub(super) config: Config,
    pub(super) check: Check,
    pub(super) roots: Roots,
}

impl Address {
    /// Reads `postgres://USER:PASSWORD@HOST:PORT/DATABASE?PARAMETERS`.
    pub(super) fn parse(url: &str) -> Result<Self, PgError> {
        if !url.starts_with("postgres://") && !url.starts_with("postgresql://") {
            return Err(wrong("does not begin with postgres://"));
        }
        let (mut rest, query) = match url.split_once('?') {
            Some((rest, query)) => (rest.to_owned(), query),
            None => (url.to_owned(), ""),
        };
        let (mut mode, mut roots) = (None, None);
        let mut separator = '?';
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            match pair.split_once('=') {
                Some(("sslmode", value)) => mode = Some(value),
                Some(("sslrootcert", value)) => {
                    let path = percent_decode_str(value).decode_utf8();
                    roots =
                        Some(path.map_err(|_| wrong("has an sslrootcert that is not UTF-8"))?.into_owned());
                }
                Some(("sslcert" | "sslkey", _)) => {
                    return Err(wrong("has a client certificate, which is not supported; use a password"));
                }
                _ => {
                    rest.push(separator);
                    rest.push_str(pair);
                    separator = '&';
                }
            }
        }
        let roots = match roots.as_deref() {
            None => None,
            Some("system") => Some(Roots::System),
            Some(path) => Some(Roots::File(path.into())),
        };
        let (ssl, check) = modes(mode, roots.as_ref())?;
        let mut config: Config = rest.parse().map_err(|error| wrong(&not_understood(&error)))?;
        if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
            return Err(wrong("has no host"));
        }
        let local = config.get_hostaddrs().is_empty()
            && config.get_hosts().iter().all(|host| !matches!(host, Host::Tcp(_)));
        // A socket of this machine has no one to hide from, and servers do not offer TLS on it.
        config.ssl_mode(if local { SslMode::Disable } else { ssl });
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(CONNECT_TIMEOUT);
        }
        if config.get_application_name().is_none() {
            config.application_name("omni-skills");
        }
        config.keepalives_idle(KEEPALIVE).keepalives_interval(KEEPALIVE / 3).keepalives_retries(3);
        if config.get_tcp_user_timeout().is_none() {
            config.tcp_user_timeout(UNACKNOWLEDGED);
        }
        Ok(Self { config, check, roots: roots.unwrap_or(Roots::System) })
    }
}

fn modes(mode: Option<&str>, roots: Option<&Roots>) -> Result<(SslMode, Check), PgError> {
    Ok(match (mode, roots) {
        (Some("disable"), _) => (SslMode::Disable, Check::Nothing),
        // As libpq has it: who says which authorities to trust means it.
        (Some("verify-full"), _) | (None, Some(Roots::System)) => (SslMode::Require, Check::Name),
        (Some("verify-ca"), _) | (Some("require"), Some(_)) => (SslMode::Require, Check::Authority),
        (Some("require"), None) => (SslMode::Require, Check::Nothing),
        (None | Some("prefer" | "allow"), _) => (SslMode::Prefer, Check::Nothing),
        (Some(_), _) => {
            let words = "disable, allow, prefer, require, verify-ca or verify-full";
            return Err(wrong(&format!("has an sslmode that is none of {words}")));
        }
    })
}

/// The driver names the parameter that it does not know, and quotes nothing else.
fn not_understood(error: &tokio_postgres::Error) -> String {
    let cause = std::error::Error::source(error).map(ToString::to_string).unwrap_or_default();
    match cause.strip_prefix("unknown option ") {
        Some(option) => format!("has the unknown parameter {option}"),
        None => "is not written as postgres://USER:PASSWORD@HOST:PORT/DATABASE; special characters in it are percent-encoded"
            .to_owned(),
    }
}

fn wrong(problem: &str) -> PgError {
    PgError::Address(problem.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(url: &str) -> Address {
        Address::parse(url).unwrap()
    }

    #[test]
    fn a_plain_address_has_bounded_waits_and_tls_where_there_is_some() {
        let address = parse("postgres://me:p%40ss@db.example:5433/omni");
        assert_eq!(address.config.get_user(), Some("me"));
        assert_eq!(address.config.get_password(), Some(&b"p@ss"[..]));
        assert_eq!(address.config.get_dbname(), Some("omni"));
        assert_eq!(address.config.get_ports(), [5433]);
        assert_eq!(address.config.get_ssl_mode(), SslMode::Prefer);
        assert_eq!(address.config.get_connect_timeout(), Some(&CONNECT_TIMEOUT));
        assert_eq!((address.check, address.roots), (Check::Nothing, Roots::System));
    }

    #[test]
    fn the_words_of_libpq_mean_what_they_mean_there() {
        let cases = [
            ("sslmode=disable", SslMode::Disable, Check::Nothing),
            ("sslmode=prefer", SslMode::Prefer, Check::Nothing),
            ("sslmode=require", SslMode::Require, Check::Nothing),
            ("sslmode=require&sslrootcert=/x.pem", SslMode::Require, Check::Authority),
            ("sslmode=verify-ca", SslMode::Require, Check::Authority),
            ("sslmode=verify-full&sslrootcert=%2Fx.pem", SslMode::Require, Check::Name),
            ("sslrootcert=system", SslMode::Require, Check::Name),
        ];
        for (query, ssl, check) in cases {
            let address = parse(&format!("postgresql://h/d?{query}&options=-c%20search_path%3Dx"));
            assert_eq!((address.config.get_ssl_mode(), address.check), (ssl, check), "{query}");
            assert_eq!(address.config.get_options(), Some("-c search_path=x"));
            let file = query.contains(".pem").then(|| Roots::File("/x.pem".into()));
            assert_eq!(address.roots, file.unwrap_or(Roots::System));
        }
    }

    #[test]
    fn local_sockets_need_no_tls() {
        for url in
            ["postgres://%2Frun%2Fpg/d?sslmode=require", "postgres:///d?host=/run/pg&sslmode=verify-full"]
        {
            assert_eq!(parse(url).config.get_ssl_mode(), SslMode::Disable, "{url}");
        }
    }

    #[test]
    fn what_is_wrong_is_said_without_the_password() {
        let cases = [
            ("mysql://me:secret@h/d", "postgres://"),
            ("postgres://me:secret@h:port/d", "percent-encoded"),
            ("postgres://me:secret@h/d?pool=3", "unknown parameter `pool`"),
            ("postgres://me:secret@h/d?sslmode=secret", "verify-full"),
            ("postgres://me:secret@h/d?sslcert=secret", "client certificate"),
            ("postgres://me:secret@/d", "host"),
        ];
        for (url, part) in cases {
            let Err(error) = Address::parse(url) else { panic!("{url} was understood") };
            let text = error.to_string();
            assert!(text.contains(part) && !text.contains("secret"), "{text}");
        }
    }
}
