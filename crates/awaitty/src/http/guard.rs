//! Authentication of HTTP requests, before anything else of them is used.
//!
//! A web page of a third party in the user's browser can send requests to this server, and can resolve a name of its
//! own to it (DNS rebinding). So each request is checked for its host name (`Host`), the origin of the page (`Origin`)
//! and a token, which no page has, in this order.

use std::io;
use std::net::{IpAddr, SocketAddr};

use axum::http::header::{AUTHORIZATION, HOST, ORIGIN};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use serde_json::Value;
use subtle::ConstantTimeEq;

use super::ticket::Tickets;

/// Access that a token gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TokenAccess {
    /// All tools.
    Full,
    /// Tools that only read.
    ReadOnly,
}

/// A rejected request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) status: StatusCode,
    pub(super) why: &'static str,
}

const TOKEN_WHY: &str = "send `Authorization: Bearer TOKEN` with the token from the token file";

const fn refusal(status: StatusCode, why: &'static str) -> Refusal {
    Refusal { status, why }
}

/// The accepted host names and tokens.
#[derive(Clone)]
pub(super) struct Guard {
    /// Accepted values of `Host`, each with its port.
    hosts: Vec<String>,
    token: String,
    read_token: Option<String>,
    tickets: Tickets,
}

// Written by hand to keep tokens out of logs.
impl std::fmt::Debug for Guard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Guard").field("hosts", &self.hosts).finish_non_exhaustive()
    }
}

/// The port that browsers omit from `Host`.
const HTTP_PORT: u16 = 80;

fn has_port(name: &str) -> bool {
    name.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok())
}

impl Guard {
    /// Creates the guard for a bound address and additional host names.
    ///
    /// # Errors
    /// If the kernel provides no random bytes.
    pub(super) fn new(
        address: SocketAddr,
        names: &[String],
        token: String,
        read_token: Option<String>,
    ) -> io::Result<Guard> {
        let port = address.port();
        let local = ["localhost", "127.0.0.1", "[::1]"].map(str::to_owned);
        let own = match address.ip() {
            IpAddr::V4(ip) => ip.to_string(),
            IpAddr::V6(ip) => format!("[{ip}]"),
        };
        let own = Some(own).filter(|_| !address.ip().is_unspecified());
        let names = names.iter().map(|name| name.to_lowercase());
        let (whole, bare): (Vec<_>, Vec<_>) = names.partition(|name| has_port(name));
        let all: Vec<String> = local.into_iter().chain(own).chain(bare).collect();
        let mut hosts: Vec<String> = all.iter().map(|name| format!("{name}:{port}")).collect();
        hosts.extend(whole);
        if port == HTTP_PORT {
            hosts.extend(all);
        }
        let tickets = Tickets::new(&token, read_token.as_deref())?;
        Ok(Guard { hosts, token, read_token, tickets })
    }

    /// Returns the token of the login file.
    pub(super) fn page_token(&self) -> &str {
        self.tickets.page_token()
    }

    /// Checks the host name, and the origin if there is one.
    pub(super) fn check_host_and_origin(&self, headers: &HeaderMap) -> Result<(), Refusal> {
        const HOST_WHY: &str = "the Host header is not a name of this server: use 127.0.0.1 and the port, or start \
            the server with --allow-host";
        const ORIGIN_WHY: &str =
            "the Origin header names another site: only pages of this server may send requests";
        let known = |host: &str| self.hosts.iter().any(|own| own.eq_ignore_ascii_case(host));
        if !single_header(headers, &HOST).is_some_and(known) {
            return Err(refusal(StatusCode::FORBIDDEN, HOST_WHY));
        }
        let is_ours = |origin: &HeaderValue| {
            let origin = origin.to_str().ok().and_then(|origin| origin.strip_prefix("http://"));
            origin.is_some_and(known)
        };
        if !headers.get_all(ORIGIN).iter().all(is_ours) {
            return Err(refusal(StatusCode::FORBIDDEN, ORIGIN_WHY));
        }
        Ok(())
    }

    /// Checks the token in constant time.
    pub(super) fn check_token(&self, headers: &HeaderMap) -> Result<TokenAccess, Refusal> {
        let bearer = bearer(headers);
        let is_same = |token: &str| {
            bearer.is_some_and(|given| given.as_bytes().ct_eq(token.as_bytes()).into())
        };
        match (is_same(&self.token), self.read_token.as_deref().is_some_and(is_same)) {
            (true, _) => Ok(TokenAccess::Full),
            (false, true) => Ok(TokenAccess::ReadOnly),
            _ => Err(refusal(StatusCode::UNAUTHORIZED, TOKEN_WHY)),
        }
    }

    /// Checks the ticket or the token of a page request.
    pub(super) fn check_ticket(&self, headers: &HeaderMap) -> Result<TokenAccess, Refusal> {
        self.check_token(headers).or_else(|refusal| {
            let access =
                || self.tickets.access_of(bearer(headers)?, single_header(headers, &HOST)?);
            access().ok_or(refusal)
        })
    }

    /// Returns the proof that this server knows the page's token; `None` if the nonce is malformed.
    pub(super) fn prove(&self, headers: &HeaderMap, nonce: &str) -> Option<Value> {
        self.tickets.prove(nonce, single_header(headers, &HOST)?)
    }
}

/// Returns the text of a header that occurs exactly once.
fn single_header<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    let mut all = headers.get_all(name).iter();
    let text = all.next()?.to_str().ok()?;
    all.next().is_none().then_some(text)
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, bearer) = single_header(headers, &AUTHORIZATION)?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then_some(bearer.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: &str = "0123456789abcdef0123456789abcdef";

    fn guard() -> Guard {
        let address = "127.0.0.1:8137".parse().unwrap();
        let read_token = Some("readreadread".to_owned());
        Guard::new(address, &["box.lan".to_owned()], TOKEN.to_owned(), read_token).unwrap()
    }

    fn headers(all: &[(&'static str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in all {
            headers.append(*name, value.parse().unwrap());
        }
        headers
    }

    #[test]
    fn foreign_hosts_and_origins_are_rejected() {
        let check =
            |all: &[(&'static str, &str)]| guard().check_host_and_origin(&headers(all)).is_ok();
        for host in
            ["127.0.0.1:8137", "localhost:8137", "LOCALHOST:8137", "[::1]:8137", "box.lan:8137"]
        {
            assert!(check(&[("host", host)]), "{host}");
            assert!(check(&[("host", host), ("origin", &format!("http://{host}"))]), "{host}");
        }
        for host in [
            "evil.example",
            "evil.example:8137",
            "127.0.0.1",
            "127.0.0.1:80",
            "",
            "127.0.0.1:8137.evil",
        ] {
            assert!(!check(&[("host", host)]), "{host}");
        }
        let ours = ("host", "127.0.0.1:8137");
        for origin in [
            "null",
            "http://evil.example",
            "https://127.0.0.1:8137",
            "http://127.0.0.1:80",
            "http://127.0.0.1",
            "http://127.0.0.1:8137.evil.example",
            "file://",
            "",
        ] {
            assert!(!check(&[ours, ("origin", origin)]), "{origin}");
        }
        assert!(!check(&[]), "no name at all");
        assert!(!check(&[ours, ("host", "evil.example")]), "two names");
    }

    #[test]
    fn a_host_name_may_have_its_own_port_and_port_80_is_optional() {
        let names = ["localhost:9000".to_owned(), "box.lan".to_owned()];
        let check = |port: u16, host: &str| {
            let address = SocketAddr::new([127, 0, 0, 1].into(), port);
            let guard = Guard::new(address, &names, TOKEN.to_owned(), None).unwrap();
            guard.check_host_and_origin(&headers(&[("host", host)])).is_ok()
        };
        assert!(check(8137, "localhost:9000") && check(8137, "box.lan:8137"));
        assert!(!check(8137, "box.lan:9000") && !check(8137, "box.lan"));
        assert!(check(80, "127.0.0.1") && check(80, "box.lan") && !check(80, "evil.example"));
    }

    #[test]
    fn only_the_exact_token_is_accepted() {
        let check = |all: &[(&'static str, &str)]| guard().check_token(&headers(all)).ok();
        let bearer = |token: &str| format!("Bearer {token}");
        assert_eq!(check(&[("authorization", &bearer(TOKEN))]), Some(TokenAccess::Full));
        assert_eq!(check(&[("authorization", "bearer readreadread")]), Some(TokenAccess::ReadOnly));
        for wrong in
            ["", &TOKEN[..31], &TOKEN[1..], &TOKEN.to_uppercase(), &TOKEN.repeat(2), "read"]
        {
            assert_eq!(check(&[("authorization", &bearer(wrong))]), None, "{wrong}");
        }
        assert_eq!(check(&[("authorization", TOKEN)]), None, "no scheme");
        assert_eq!(check(&[("x-token", TOKEN)]), None);
        let twice = [("authorization", bearer(TOKEN)), ("authorization", bearer("x"))];
        assert_eq!(check(&twice.each_ref().map(|(name, value)| (*name, value.as_str()))), None);
    }
}
