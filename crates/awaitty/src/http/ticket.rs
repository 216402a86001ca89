//! Tickets of the live page, and the proof by which the page authenticates the server.
//!
//! A page outlives its server, and then another program may listen on the same port. So the page never sends a token.
//! It sends a nonce, and the server proves by HMAC that it knows the token. Only then does the page send a ticket.
//!
//! Proof and ticket are derived from a key. The key is derived from a token, the ID of the server run and the address.
//! So a ticket is invalid in another run and at another address. The key is never sent, so a program that has seen a
//! ticket cannot prove that it is the server.

use std::io;
use std::ops::RangeInclusive;

use hmac::{Hmac, KeyInit, Mac};
use serde_json::{Value, json};
use sha2::Sha256;
use subtle::ConstantTimeEq;

use super::guard::TokenAccess;
use super::token;

/// Hexadecimal digits of a nonce. The minimum of 128 bits prevents collecting proofs in advance; the maximum bounds the
/// work per request.
const NONCE_DIGITS: RangeInclusive<usize> = 32..=128;

/// The tickets of one server run.
#[derive(Clone)]
pub(super) struct Tickets {
    /// ID of the run, which is public.
    run: String,
    page_token: String,
    /// All tokens that open the page, in the order of their proofs.
    tokens: Vec<(String, TokenAccess)>,
}

impl Tickets {
    /// Creates the tickets of a new run. `token` and `read_token` are also valid for MCP; the page token is new.
    ///
    /// # Errors
    /// If the kernel provides no random bytes.
    pub(super) fn new(token: &str, read_token: Option<&str>) -> io::Result<Tickets> {
        let page_token = token::new_token()?;
        let mut tokens =
            vec![(page_token.clone(), TokenAccess::Full), (token.to_owned(), TokenAccess::Full)];
        tokens.extend(read_token.map(|token| (token.to_owned(), TokenAccess::ReadOnly)));
        Ok(Tickets { run: token::new_token()?, page_token, tokens })
    }

    /// Returns the token for the login file, valid for this run. It is not accepted itself, only tickets derived from
    /// it.
    pub(super) fn page_token(&self) -> &str {
        &self.page_token
    }

    /// Returns the access that a ticket gives. Compares in constant time.
    pub(super) fn access_of(&self, bearer: &str, host: &str) -> Option<TokenAccess> {
        let is_its_ticket = |key: &str| {
            let ticket = hmac_hex(key, "awaitty page ticket");
            bearer.as_bytes().ct_eq(ticket.as_bytes()).into()
        };
        self.keys(host).find(|(key, _)| is_its_ticket(key)).map(|(_, right)| right)
    }

    /// Returns the run ID and a proof for each token; `None` if the nonce is malformed. A proof does not reveal its
    /// token.
    pub(super) fn prove(&self, nonce: &str, host: &str) -> Option<Value> {
        let is_hex = nonce.bytes().all(|byte| byte.is_ascii_hexdigit());
        if !is_hex || !NONCE_DIGITS.contains(&nonce.len()) {
            return None;
        }
        let text = format!("awaitty page proof\n{nonce}");
        let proofs: Vec<String> = self.keys(host).map(|(key, _)| hmac_hex(&key, &text)).collect();
        Some(json!({"run": self.run, "proofs": proofs}))
    }

    /// Returns the keys for the `Host` header of a request. Browsers lower-case it in the page's address.
    fn keys(&self, host: &str) -> impl Iterator<Item = (String, TokenAccess)> {
        let text = format!("awaitty page key\n{}\n{}", self.run, host.to_ascii_lowercase());
        self.tokens.iter().map(move |(token, right)| (hmac_hex(token, &text), *right))
    }
}

/// Returns an HMAC-SHA-256 as hexadecimal digits. `page/hmac.js` is its counterpart.
fn hmac_hex(key: &str, text: &str) -> String {
    let mut mac =
        Hmac::<Sha256>::new_from_slice(key.as_bytes()).expect("HMAC takes a key of any length");
    mac.update(text.as_bytes());
    mac.finalize().into_bytes().iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOST: &str = "127.0.0.1:8137";
    const NONCE: &str = "00112233445566778899aabbccddeeff";

    fn tickets() -> Tickets {
        Tickets::new("file-token-file-token", Some("read-token-read-token")).unwrap()
    }

    /// Makes a ticket from a token and the response to `/api/hello`, as the page does.
    fn ticket(tickets: &Tickets, token: &str, host: &str) -> String {
        let hello = tickets.prove(NONCE, host).unwrap();
        let run = hello["run"].as_str().unwrap();
        let key = hmac_hex(token, &format!("awaitty page key\n{run}\n{host}"));
        let ticket = hmac_hex(&key, "awaitty page ticket");
        let proof = |key: &str| json!(hmac_hex(key, &format!("awaitty page proof\n{NONCE}")));
        let proofs = hello["proofs"].as_array().unwrap();
        assert!(proofs.contains(&proof(&key)), "{hello}");
        assert!(!proofs.contains(&proof(&ticket)), "a ticket proves nothing");
        ticket
    }

    #[test]
    fn hmacs_match_the_test_cases_of_rfc_4231() {
        assert_eq!(
            hmac_hex(&"\u{b}".repeat(20), "Hi There"),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"
        );
        assert_eq!(
            hmac_hex("Jefe", "what do ya want for nothing?"),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        );
    }

    #[test]
    fn a_ticket_gives_the_access_of_its_token_for_one_run_and_one_address() {
        let here = tickets();
        let right = |token: &str| here.access_of(&ticket(&here, token, HOST), HOST);
        assert_eq!(right(here.page_token()), Some(TokenAccess::Full));
        assert_eq!(right("file-token-file-token"), Some(TokenAccess::Full));
        assert_eq!(right("read-token-read-token"), Some(TokenAccess::ReadOnly));
        let of_page = ticket(&here, here.page_token(), HOST);
        assert_eq!(here.access_of(&of_page, "LOCALHOST:8137"), None, "another address");
        assert_eq!(tickets().access_of(&of_page, HOST), None, "another run");
        let of_file = ticket(&here, "file-token-file-token", HOST);
        assert_eq!(tickets().access_of(&of_file, HOST), None, "the same token, another run");
        for wrong in ["", &of_page[1..], &of_page.to_uppercase(), here.page_token()] {
            assert_eq!(here.access_of(wrong, HOST), None, "{wrong}");
        }
        let of_name = ticket(&here, here.page_token(), "box.lan:8137");
        assert_eq!(here.access_of(&of_name, "Box.LAN:8137"), Some(TokenAccess::Full));
    }

    #[test]
    fn a_proof_depends_on_its_nonce_and_the_length_of_nonces_is_limited() {
        let here = tickets();
        let proofs = |nonce: &str| here.prove(nonce, HOST).map(|hello| hello["proofs"].clone());
        assert_eq!(proofs(NONCE), proofs(NONCE));
        assert_ne!(proofs(NONCE), proofs(&NONCE.replace('0', "1")));
        assert_ne!(here.prove(NONCE, HOST), here.prove(NONCE, "localhost:8137"));
        assert_eq!(proofs(NONCE).unwrap().as_array().unwrap().len(), 3);
        for (count, is_fit) in [(0, false), (31, false), (32, true), (128, true), (129, false)] {
            assert_eq!(proofs(&"f".repeat(count)).is_some(), is_fit, "{count}");
        }
        assert_eq!(proofs(&"g".repeat(32)), None);
        assert_eq!(proofs(&format!("{NONCE}\n")), None);
        let one = Tickets::new("file-token-file-token", None).unwrap();
        assert_eq!(one.prove(NONCE, HOST).unwrap()["proofs"].as_array().unwrap().len(), 2);
    }
}
