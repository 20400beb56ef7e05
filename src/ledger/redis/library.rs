//! Our library of functions on the server, and the hash that they keep: both are replaced and
//! removed, and nothing of anybody else's is.

use std::collections::HashMap;

use anyhow::{Context, Result};
use redis::Connection;

use super::packing::KEY;
use crate::error::bad_input;

const LIBRARY: &str = "ledger_bench";
const CODE: &str = include_str!("ledger.lua");
/// The second line of every version of our code; no other library has it.
const MARK: &str = "-- The ledger suite's functions, loaded by ledger-bench.";

/// Functions came with Redis 7; Valkey has had them from its first release.
const REDIS_OLDEST: u32 = 7;

/// Refuses a server without functions, by what INFO says of it.
pub fn check_version(info: &HashMap<String, String>) -> Result<()> {
    if info.contains_key("valkey_version") {
        return Ok(());
    }
    let version = info.get("redis_version").context("INFO names no redis_version")?;
    let major = version.split('.').next().and_then(|major| major.parse::<u32>().ok());
    if major.is_some_and(|major| major < REDIS_OLDEST) {
        return Err(bad_input(format!(
            "Redis {REDIS_OLDEST} or newer, or Valkey, is needed: this server is Redis {version}"
        )));
    }
    Ok(())
}

/// Loads our functions, in place of an older version of them.
pub fn load(connection: &mut Connection) -> Result<()> {
    find(connection)?;
    let name: String = redis::cmd("FUNCTION").arg("LOAD").arg("REPLACE").arg(CODE).query(connection)?;
    assert_eq!(name, LIBRARY, "the name stands in the code's first line");
    Ok(())
}

/// Removes our functions, where they are loaded.
pub fn unload(connection: &mut Connection) -> Result<()> {
    if find(connection)? {
        redis::cmd("FUNCTION").arg("DELETE").arg(LIBRARY).exec(connection)?;
    }
    Ok(())
}

/// Removes the hash. Its memory is freed beside the server's work: millions of fields take it
/// longer than a request may.
pub fn remove_data(connection: &mut Connection) -> Result<()> {
    Ok(redis::cmd("UNLINK").arg(KEY).exec(connection)?)
}

/// Whether our library is loaded; refuses one of that name that is not ours.
fn find(connection: &mut Connection) -> Result<bool> {
    let found: Vec<HashMap<String, redis::Value>> = redis::cmd("FUNCTION")
        .arg("LIST")
        .arg("LIBRARYNAME")
        .arg(LIBRARY)
        .arg("WITHCODE")
        .query(connection)
        .context("FUNCTION LIST")?;
    let Some(library) = found.first() else { return Ok(false) };
    let code = library.get("library_code").context("FUNCTION LIST gave no library_code")?;
    let code: String = redis::from_redis_value_ref(code)?;
    anyhow::ensure!(
        is_ours(&code),
        "the library {LIBRARY} on the server was not made by this program: to lose it, FUNCTION DELETE {LIBRARY}"
    );
    Ok(true)
}

fn is_ours(code: &str) -> bool {
    code.lines().nth(1) == Some(MARK)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info(pairs: &[(&str, &str)]) -> HashMap<String, String> {
        pairs.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect()
    }

    #[test]
    fn servers_without_functions_are_refused() {
        let error = check_version(&info(&[("redis_version", "6.2.14")])).expect_err("too old");
        assert!(error.downcast_ref::<crate::error::BadInput>().is_some());
        let wanted = "Redis 7 or newer, or Valkey, is needed: this server is Redis 6.2.14";
        assert_eq!(error.to_string(), wanted);
        for version in ["7.0.0", "7.2.4", "8.0.1", "10.0.0"] {
            check_version(&info(&[("redis_version", version)])).expect("new enough");
        }
        check_version(&info(&[("redis_version", "7.2.4"), ("valkey_version", "8.0.0")])).expect("Valkey");
        check_version(&info(&[])).expect_err("says nothing");
    }

    #[test]
    fn our_code_is_told_from_others() {
        assert!(is_ours(CODE));
        assert!(CODE.starts_with(&format!("#!lua name={LIBRARY}\n")));
        assert!(!is_ours("#!lua name=ledger_bench\nredis.register_function('gold', function() end)"));
        assert!(!is_ours(""));
    }
}
