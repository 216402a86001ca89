//! Rules of the operator, who starts the server: the policy file and the audit log. Agents cannot change them.

mod audit;
mod globs;
mod policy;
mod spawn;

pub(crate) use audit::redact;
pub use audit::{AuditLog, Entry as AuditEntry, Who};
pub use policy::{ClientLimits, Policy, check_file};
