//! Which cores a server and its clients are kept on, so that neither takes the other's time.

use std::{collections::BTreeSet, fs};

use super::line;

/// Cores as taskset(1) takes them: `0,2,3`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pin {
    /// Of the server.
    pub server: String,
    /// Of the process that measures.
    pub client: String,
}

impl Pin {
    /// `None` where nothing is kept anywhere.
    #[must_use]
    pub fn of(server: &str, client: &str) -> Option<Self> {
        let is_set = !server.is_empty() && !client.is_empty();
        is_set.then(|| Self { server: server.into(), client: client.into() })
    }

    /// How many cores the server has, and the client.
    #[must_use]
    pub fn counts(&self) -> [u64; 2] {
        [&self.server, &self.client].map(|cores| cores.split(',').count() as u64)
    }
}

/// Whether this process may run on these cores, as taskset(1) takes them, and on no other.
#[must_use]
pub fn is_kept_on(cores: &str) -> bool {
    allowed().zip(list(cores)).is_some_and(|(allowed, cores)| allowed == cores)
}

/// What this process may run on.
fn allowed() -> Option<BTreeSet<u32>> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    list(status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?.trim())
}

/// All that this process may run on, halved: whole cores with all their threads on either side, the first ones the
/// server's. `None` where there is but one, or the kernel does not tell.
#[must_use]
pub fn split() -> Option<Pin> {
    split_into(&allowed()?, |cpu| {
        list(&line(format!("/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list")))
    })
}

/// `siblings`: the threads of the core that a thread belongs to.
fn split_into(allowed: &BTreeSet<u32>, siblings: impl Fn(u32) -> Option<BTreeSet<u32>>) -> Option<Pin> {
    let mut cores: Vec<BTreeSet<u32>> = Vec::new();
    for &cpu in allowed {
        if !cores.iter().any(|core| core.contains(&cpu)) {
            let core = siblings(cpu).unwrap_or_default();
            cores.push(core.intersection(allowed).copied().chain([cpu]).collect());
        }
    }
    let (server, client) = cores.split_at(cores.len() / 2);
    let named = |cores: &[BTreeSet<u32>]| {
        let mut cpus: Vec<u32> = cores.iter().flatten().copied().collect();
        cpus.sort_unstable();
        cpus.iter().map(u32::to_string).collect::<Vec<_>>().join(",")
    };
    (!server.is_empty()).then(|| Pin { server: named(server), client: named(client) })
}

/// `0-3,8`, as the kernel writes lists of CPUs.
fn list(text: &str) -> Option<BTreeSet<u32>> {
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some(first.parse::<u32>().ok()?..=last.parse::<u32>().ok()?)
    };
    let ranges: Option<Vec<_>> = text.split(',').map(range).collect();
    Some(ranges?.into_iter().flatten().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(cpus: &str, threads: impl Fn(u32) -> Option<BTreeSet<u32>>) -> Option<[String; 2]> {
        let Pin { server, client } = split_into(&list(cpus).expect("valid"), threads)?;
        Some([server, client])
    }

    fn halves(server: &str, client: &str) -> [String; 2] {
        [server, client].map(String::from)
    }

    #[test]
    fn lists_are_read_as_the_kernel_writes_them() {
        assert_eq!(list("0-2,5"), Some([0, 1, 2, 5].into()));
        assert_eq!([list(""), list("0-"), list("a")], [None, None, None]);
    }

    #[test]
    fn a_process_knows_where_it_is_kept() {
        let here = allowed().expect("the kernel tells");
        let here: Vec<String> = here.iter().map(u32::to_string).collect();
        assert!(is_kept_on(&here.join(",")));
        assert!(!is_kept_on(&format!("{},4095", here.join(","))) && !is_kept_on(""));
    }

    #[test]
    fn cores_are_halved_and_their_threads_stay_together() {
        let alone = |cpu| Some([cpu].into());
        assert_eq!(told("0-3", alone), Some(halves("0,1", "2,3")));
        assert_eq!(told("4,7", alone), Some(halves("4", "7")));
        assert_eq!(told("0-2", alone), Some(halves("0", "1,2")));
        assert_eq!(told("3", alone), None);
        let threads = |cpu: u32| Some([cpu % 4, cpu % 4 + 4].into());
        assert_eq!(told("0-7", threads), Some(halves("0,1,4,5", "2,3,6,7")));
        assert_eq!(told("0,4", threads), None, "one core of two threads");
        assert_eq!(told("0-2", |_| None), Some(halves("0", "1,2")));
    }
}
