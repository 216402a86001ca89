// Says whether a run of the suite was perfect: node verdict.mjs REVISION OUTPUT
// The suite itself forgives warnings, checks that it skipped and failures of scenarios that it does not score; we
// forgive none of them.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

// How many scenarios a revision has: a run that skips some is no proof.
const SCENARIOS = { "2025-11-25": 33, "2026-07-28": 40 };

// tasks-*: an extension of the protocol that we do not have and do not claim to have. The suite does not score it.
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
for (const folder of readdirSync(output)) {
  // server-SCENARIO-TIME
  const scenario = folder.replace(/^server-/, "").replace(/-\d{4}-\d\d-\d\dT[\d-]+Z$/, "");
  if (isExtension(scenario)) continue;
  const checks = JSON.parse(readFileSync(join(output, folder, "checks.json"), "utf8"));
  if (checks.some((check) => check.status === "SUCCESS")) ran.add(scenario);
  for (const { status, id, errorMessage, details } of checks) {
    if (!["FAILURE", "WARNING", "SKIPPED"].includes(status)) continue;
    fault(`${scenario}: ${status} ${id}: ${errorMessage ?? JSON.stringify(details ?? "")}`);
  }
}
if (ran.size !== SCENARIOS[revision]) fault(`${ran.size} scenarios ran, and not ${SCENARIOS[revision]}`);
if (faults === 0) console.log(`ok conformance ${revision}: ${ran.size} scenarios`);
process.exit(faults === 0 ? 0 : 1);
