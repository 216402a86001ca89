// HMAC-SHA-256 (FIPS 180-4, RFC 2104). Browsers provide crypto.subtle only in secure contexts (https and localhost), so
// it is missing at http://192.168.1.2:8137.

const BLOCK = 64; // bytes
const START = words("6a09e667 bb67ae85 3c6ef372 a54ff53a 510e527f 9b05688c 1f83d9ab 5be0cd19");
const ROUNDS = words(
  "428a2f98 71374491 b5c0fbcf e9b5dba5 3956c25b 59f111f1 923f82a4 ab1c5ed5 " +
  "d807aa98 12835b01 243185be 550c7dc3 72be5d74 80deb1fe 9bdc06a7 c19bf174 " +
  "e49b69c1 efbe4786 0fc19dc6 240ca1cc 2de92c6f 4a7484aa 5cb0a9dc 76f988da " +
  "983e5152 a831c66d b00327c8 bf597fc7 c6e00bf3 d5a79147 06ca6351 14292967 " +
  "27b70a85 2e1b2138 4d2c6dfc 53380d13 650a7354 766a0abb 81c2c92e 92722c85 " +
  "a2bfe8a1 a81a664b c24b8b70 c76c51a3 d192e819 d6990624 f40e3585 106aa070 " +
  "19a4c116 1e376c08 2748774c 34b0bcb5 391c0cb3 4ed8aa4a 5b9cca4f 682e6ff3 " +
  "748f82ee 78a5636f 84c87814 8cc70208 90befffa a4506ceb bef9a3f7 c67178f2",
);

function words(text) {
  return Uint32Array.from(text.split(" "), (word) => parseInt(word, 16));
}

/** Returns the HMAC of a text as hexadecimal digits. The key is a text, too. */
export function hmac(key, text) {
  const encoder = new TextEncoder();
  let bytes = encoder.encode(key);
  if (bytes.length > BLOCK) bytes = sha256(bytes);
  const padded = (mask) => Uint8Array.from({ length: BLOCK }, (_, i) => (bytes[i] ?? 0) ^ mask);
  const inner = sha256(padded(0x36), encoder.encode(text));
  return hex(sha256(padded(0x5c), inner));
}

export function hex(bytes) {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

function sha256(...parts) {
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  // Padding: a one bit, zeros, and the length in bits as 8 bytes.
  const message = new Uint8Array(Math.ceil((length + 9) / BLOCK) * BLOCK);
  let end = 0;
  for (const part of parts) {
    message.set(part, end);
    end += part.length;
  }
  message[length] = 0x80;
  const view = new DataView(message.buffer);
  view.setUint32(message.length - 8, Math.floor(length / 2 ** 29));
  view.setUint32(message.length - 4, length * 8);
  const hash = START.slice();
  for (let at = 0; at < message.length; at += BLOCK) compress(hash, view, at);
  const digest = new DataView(new ArrayBuffer(32));
  hash.forEach((word, i) => digest.setUint32(4 * i, word));
  return new Uint8Array(digest.buffer);
}

/** Adds a block to the hash. */
function compress(hash, view, at) {
  const schedule = new Uint32Array(64);
  for (let i = 0; i < 16; i++) schedule[i] = view.getUint32(at + 4 * i);
  for (let i = 16; i < 64; i++) {
    const early = schedule[i - 15];
    const late = schedule[i - 2];
    const sigma0 = turn(early, 7) ^ turn(early, 18) ^ (early >>> 3);
    const sigma1 = turn(late, 17) ^ turn(late, 19) ^ (late >>> 10);
    schedule[i] = schedule[i - 16] + sigma0 + schedule[i - 7] + sigma1;
  }
  let [a, b, c, d, e, f, g, h] = hash;
  for (let i = 0; i < 64; i++) {
    const chosen = (e & f) ^ (~e & g);
    const first = (h + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) + chosen + ROUNDS[i] + schedule[i]) | 0;
    const majority = (a & b) ^ (a & c) ^ (b & c);
    const second = ((turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) + majority) | 0;
    [h, g, f, e, d, c, b, a] = [g, f, e, (d + first) | 0, c, b, a, (first + second) | 0];
  }
  [a, b, c, d, e, f, g, h].forEach((word, i) => (hash[i] += word));
}

/** Rotates a word to the right. */
function turn(word, bits) {
  return (word >>> bits) | (word << (32 - bits));
}
