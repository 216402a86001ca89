// Checks that a run of the suite has no failure, no warning and no skipped check: node verdict.mjs REVISION OUTPUT
// The suite itself accepts warnings, skipped checks, and failures of scenarios that it does not score.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

// The number of scenarios of each revision, so that missing ones are found.
const SCENARIOS = { "2025-11-25": 33, "2026-07-28": 40 };

// tasks-*: an extension of the protocol that awaitty does not implement or announce. The suite does not score it.
const isExtension = (scenario) => scenario.startsWith("tasks-");

const [revision, output] = process.argv.slice(2);
if (!(revision in SCENARIOS) || !output) {
  console.error(`usage: verdict.mjs ${Object.keys(SCENARIOS).join("|")} OUTPUT`);
  process.exit(2);
}

let faults = 0;
const fault = (text) => {
  console.log(`FAIL conformance ${revision}: ${text}`);
  faults += 1;
};

const ran = new Set();
for (const directory of readdirSync(output)) {
  // server-SCENARIO-TIME
  const scenario = directory.replace(/^server-/, "").replace(/-\d{4}-\d\d-\d\dT[\d-]+Z$/, "");
  if (isExtension(scenario)) continue;
  const checks = JSON.parse(readFileSync(join(output, directory, "checks.json"), "utf8"));
  if (checks.some((check) => check.status === "SUCCESS")) ran.add(scenario);
  for (const { status, id, errorMessage, details } of checks) {
    if (!["FAILURE", "WARNING", "SKIPPED"].includes(status)) continue;
    fault(`${scenario}: ${status} ${id}: ${errorMessage ?? JSON.stringify(details ?? "")}`);
  }
}
if (ran.size !== SCENARIOS[revision]) fault(`${ran.size} scenarios ran, expected ${SCENARIOS[revision]}`);
if (faults === 0) console.log(`ok conformance ${revision}: ${ran.size} scenarios`);
process.exit(faults === 0 ? 0 : 1);
