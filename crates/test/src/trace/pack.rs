//! Packs data for the page: deflate, then Base64.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// The level of compression: the default of zlib.
const LEVEL: u8 = 6;

/// Returns data as text that the page can unpack.
pub(super) fn pack(data: &[u8]) -> String {
    STANDARD.encode(miniz_oxide::deflate::compress_to_vec(data, LEVEL))
}
