//! What the row says of the host and of this program's versions. Blank for what is not known.

use std::{fs, path::Path, process::Command, thread};

/// The machine as a row shows it: no serial numbers, no names but the label that the user gave.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Machine {
    /// CPU model.
    pub cpu: String,
    /// Cores that this process may use.
    pub cores: Option<u64>,
    /// Physical memory.
    pub memory_mib: Option<u64>,
    /// Kernel name and release.
    pub kernel: String,
    /// Type of the filesystem that holds the servers' data.
    pub filesystem: String,
}

/// Looks at this machine. `data`: the folder of the servers' data, where it is known.
#[must_use]
pub fn look(data: Option<&Path>) -> Machine {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    Machine {
        cpu: cpu_model(&read("/proc/cpuinfo")),
        cores: Some(u64::from(cores())),
        memory_mib: memory_mib(&read("/proc/meminfo")),
        kernel: kernel(&read("/proc/sys/kernel/osrelease")),
        filesystem: data.and_then(filesystem).unwrap_or_default(),
    }
}

/// Cores that this process may use.
#[must_use]
pub fn cores() -> u32 {
    thread::available_parallelism().map_or(1, |cores| u32::try_from(cores.get()).unwrap_or(u32::MAX))
}

/// The type of the filesystem that holds `path`; `None` where the system does not say.
#[must_use]
pub fn filesystem(path: &Path) -> Option<String> {
    let existing = path.ancestors().find_map(|folder| folder.canonicalize().ok())?;
    filesystem_in(&fs::read_to_string("/proc/self/mountinfo").ok()?, &existing)
}

/// The crate's name and the version that this binary was built with.
#[must_use]
pub fn crate_version(name: &str) -> String {
    locked_version(include_str!("../Cargo.lock"), name)
        .map(|version| format!("{name} {version}"))
        .unwrap_or_default()
}

/// The revision of the checkout that this binary was built in: `g` before it, as a bare `7e12345`
/// is a number to a spreadsheet; `-dirty` after it when files differ.
#[must_use]
pub fn git_revision() -> String {
    let describe = ["describe", "--always", "--dirty", "--abbrev=8", "--exclude=*"];
    let output = Command::new("git").arg("-C").arg(env!("CARGO_MANIFEST_DIR")).args(describe).output();
    match output {
        Ok(output) if output.status.success() => {
            format!("g{}", String::from_utf8_lossy(&output.stdout).trim())
        }
        _ => String::new(),
    }
}

fn cpu_model(cpuinfo: &str) -> String {
    let model = cpuinfo.lines().find_map(|line| line.strip_prefix("model name"));
    model.and_then(|rest| rest.split_once(':')).map(|(_, model)| model.trim().to_owned()).unwrap_or_default()
}

fn memory_mib(meminfo: &str) -> Option<u64> {
    let total = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kib: u64 = total.trim().strip_suffix(" kB")?.trim().parse().ok()?;
    Some(kib / 1024)
}

fn kernel(osrelease: &str) -> String {
    let release = osrelease.trim();
    if release.is_empty() { String::new() } else { format!("Linux {release}") }
}

/// The last mount whose point is a parent of `path` covers it (proc(5), mountinfo: field 5 is
/// the mount point, the first field after " - " the type).
fn filesystem_in(mountinfo: &str, path: &Path) -> Option<String> {
    let mounts = mountinfo.lines().filter_map(|line| {
        let (before, after) = line.split_once(" - ")?;
        let point = before.split(' ').nth(4)?.replace("\\040", " ");
        Some((point, after.split(' ').next()?.to_owned()))
    });
    mounts
        .filter(|(point, _)| path.starts_with(point))
        .max_by_key(|(point, _)| Path::new(point).components().count())
        .map(|(_, kind)| kind)
}

fn locked_version<'a>(lock: &'a str, name: &str) -> Option<&'a str> {
    let heading = format!("name = \"{name}\"");
    let mut lines = lock.lines().skip_while(|line| *line != heading).skip(1);
    lines.next()?.strip_prefix("version = \"")?.strip_suffix('"')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_kernel_s_files() {
        assert_eq!(cpu_model("processor\t: 0\nmodel name\t: AMD EPYC 7: x\nflags"), "AMD EPYC 7: x");
        assert_eq!(cpu_model(""), "");
        assert_eq!(memory_mib("MemTotal:       24671100 kB\nMemFree: 1 kB"), Some(24_092));
        assert_eq!(memory_mib("MemTotal: many"), None);
        assert_eq!(kernel("6.1.0-18-amd64\n"), "Linux 6.1.0-18-amd64");
        assert_eq!(kernel(""), "");
    }

    #[test]
    fn the_deepest_mount_covers_a_path() {
        let mounts = "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n\
                      23 22 0:21 / /dev/shm rw shared:3 - tmpfs tmpfs rw\n\
                      24 22 8:2 / /mnt/big\\040disk rw - xfs /dev/sdb rw\n";
        let kind = |path: &str| filesystem_in(mounts, Path::new(path));
        assert_eq!(kind("/home/x").as_deref(), Some("ext4"));
        assert_eq!(kind("/dev/shm/x").as_deref(), Some("tmpfs"));
        assert_eq!(kind("/dev/shmother").as_deref(), Some("ext4"));
        assert_eq!(kind("/mnt/big disk/data").as_deref(), Some("xfs"));
        assert_eq!(filesystem_in("", Path::new("/")), None);
    }

    #[test]
    fn this_machine_answers() {
        let machine = look(Some(Path::new(env!("CARGO_MANIFEST_DIR"))));
        assert!(machine.cores.is_some_and(|cores| cores > 0));
        assert!(machine.memory_mib.is_some_and(|memory_mib| memory_mib > 64));
        assert!(machine.kernel.starts_with("Linux "));
        assert!(!machine.filesystem.is_empty());
    }

    #[test]
    fn versions_come_from_the_lock_file() {
        let lock = "[[package]]\nname = \"a\"\nversion = \"1.2.3\"\n\n[[package]]\nname = \"ab\"\nversion = \"4.5.6\"\n";
        assert_eq!(locked_version(lock, "ab"), Some("4.5.6"));
        assert_eq!(locked_version(lock, "b"), None);
        assert_eq!(crate_version("tigerbeetle-unofficial"), "tigerbeetle-unofficial 0.14.28+0.16.78");
    }

    #[test]
    fn the_deepest_mount_counts_not_the_last() {
        let mounts = "23 22 0:21 / /dev/shm rw - tmpfs tmpfs rw\n22 1 8:1 / / rw - ext4 /dev/sda1 rw\n";
        assert_eq!(filesystem_in(mounts, Path::new("/dev/shm/x")).as_deref(), Some("tmpfs"));
    }
}
