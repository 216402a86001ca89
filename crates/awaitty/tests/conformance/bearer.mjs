// Adds the bearer token to all requests of the suite, which has no option for that:
//   NODE_OPTIONS="--import FOLDER/bearer.mjs" CONFORMANCE_TOKEN=TOKEN conformance server ...
// The suite sends with fetch, `request` of undici and `request` of node:http.
import http from "node:http";
import { createRequire } from "node:module";

const bearer = `Bearer ${process.env.CONFORMANCE_TOKEN}`;

const { fetch } = globalThis;
globalThis.fetch = (input, init = {}) => {
  const headers = new Headers(init.headers ?? (input instanceof Request ? input.headers : undefined));
  headers.set("authorization", bearer);
  return fetch(input, { ...init, headers });
};

const { request } = http;
http.request = (options, ...rest) =>
  request({ ...options, headers: { ...options.headers, authorization: bearer } }, ...rest);

// The undici that the suite uses.
const undici = createRequire(process.argv[1])("undici");
const withBearer = (dispatch) => (options, handler) =>
  dispatch({ ...options, headers: { ...options.headers, authorization: bearer } }, handler);
undici.setGlobalDispatcher(new undici.Agent().compose(withBearer));
