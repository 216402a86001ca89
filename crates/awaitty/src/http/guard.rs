//! Who may ask over HTTP: everything that a request must show before anybody looks at what it asks for.
//!
//! A page of a stranger in the user's browser can send requests to us, and can make a name of its own point to us. So the
//! name by which we were asked (`Host`), the page that asks (`Origin`) and a token that no page has are looked at, in
//! this order, for every request.

use std::io;
use std::net::{IpAddr, SocketAddr};

use axum::http::header::{AUTHORIZATION, HOST, ORIGIN};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use serde_json::Value;
use subtle::ConstantTimeEq;

use super::ticket::Tickets;

/// What the bearer of a token may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Right {
    /// Everything.
    Full,
    /// Look.
    Read,
}

/// Why a request is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) status: StatusCode,
    pub(super) why: &'static str,
}

const TOKEN_WHY: &str = "send `Authorization: Bearer TOKEN`, with the token of the token file";

const fn refusal(status: StatusCode, why: &'static str) -> Refusal {
    Refusal { status, why }
}

/// What is let in.
#[derive(Clone)]
pub(super) struct Guard {
    /// The names by which we may be asked, each with its port.
    hosts: Vec<String>,
    token: String,
    read_token: Option<String>,
    tickets: Tickets,
}

// By hand: a token is not for logs.
impl std::fmt::Debug for Guard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Guard").field("hosts", &self.hosts).finish_non_exhaustive()
    }
}

/// The port that a browser leaves out.
const HTTP_PORT: u16 = 80;

fn has_port(name: &str) -> bool {
    name.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok())
}

impl Guard {
    /// Creates the guard of a server at an address, with the other names that it has.
    ///
    /// # Errors
    /// If the kernel gives no randomness.
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

    /// Looks at the name by which we are asked, and at the page that asks.
    pub(super) fn check_place(&self, headers: &HeaderMap) -> Result<(), Refusal> {
        const HOST_WHY: &str = "this name is not one of ours: ask by 127.0.0.1 and the port";
        const ORIGIN_WHY: &str = "pages of others may not ask";
        let known = |host: &str| self.hosts.iter().any(|own| own.eq_ignore_ascii_case(host));
        if !only(headers, &HOST).is_some_and(known) {
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

    /// Looks at the token, in a time that does not depend on how much of it is right.
    pub(super) fn check_token(&self, headers: &HeaderMap) -> Result<Right, Refusal> {
        let bearer = bearer(headers);
        let is_same = |token: &str| {
            bearer.is_some_and(|given| given.as_bytes().ct_eq(token.as_bytes()).into())
        };
        match (is_same(&self.token), self.read_token.as_deref().is_some_and(is_same)) {
            (true, _) => Ok(Right::Full),
            (false, true) => Ok(Right::Read),
            _ => Err(refusal(StatusCode::UNAUTHORIZED, TOKEN_WHY)),
        }
    }

    /// Looks at the ticket or the token of a request of the page.
    pub(super) fn check_ticket(&self, headers: &HeaderMap) -> Result<Right, Refusal> {
        self.check_token(headers).or_else(|refusal| {
            let right = || self.tickets.right_of(bearer(headers)?, only(headers, &HOST)?);
            right().ok_or(refusal)
        })
    }

    /// Proves to a page that we know its token; nothing if its nonce has the wrong form.
    pub(super) fn prove(&self, headers: &HeaderMap, nonce: &str) -> Option<Value> {
        self.tickets.prove(nonce, only(headers, &HOST)?)
    }
}

/// Returns the text of a header that is there once.
fn only<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    let mut all = headers.get_all(name).iter();
    let text = all.next()?.to_str().ok()?;
    all.next().is_none().then_some(text)
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, bearer) = only(headers, &AUTHORIZATION)?.split_once(' ')?;
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
    fn only_our_own_names_and_pages_may_ask() {
        let check = |all: &[(&'static str, &str)]| guard().check_place(&headers(all)).is_ok();
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
    fn a_name_may_have_a_port_of_its_own_and_one_port_goes_without_saying() {
        let names = ["localhost:9000".to_owned(), "box.lan".to_owned()];
        let check = |port: u16, host: &str| {
            let address = SocketAddr::new([127, 0, 0, 1].into(), port);
            let guard = Guard::new(address, &names, TOKEN.to_owned(), None).unwrap();
            guard.check_place(&headers(&[("host", host)])).is_ok()
        };
        assert!(check(8137, "localhost:9000") && check(8137, "box.lan:8137"));
        assert!(!check(8137, "box.lan:9000") && !check(8137, "box.lan"));
        assert!(check(80, "127.0.0.1") && check(80, "box.lan") && !check(80, "evil.example"));
    }

    #[test]
    fn only_a_whole_token_opens() {
        let check = |all: &[(&'static str, &str)]| guard().check_token(&headers(all)).ok();
        let bearer = |token: &str| format!("Bearer {token}");
        assert_eq!(check(&[("authorization", &bearer(TOKEN))]), Some(Right::Full));
        assert_eq!(check(&[("authorization", "bearer readreadread")]), Some(Right::Read));
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
