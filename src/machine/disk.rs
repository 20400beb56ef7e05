//! The block device under a folder, as sysfs describes it.

use std::{
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use super::{existing, line, mount};

/// `vda, rotational yes, scheduler mq-deadline, cache write back`: the whole disk's name, its model where it has one,
/// and what decides how long a sync takes. `None` where the filesystem names no block device, as a network's.
pub fn disk(folder: &Path) -> Option<String> {
    described(&device(folder)?)
}

/// Its folder in sysfs: by the number of the device, or, where the filesystem has made up a number (btrfs), by the name
/// of what is mounted.
fn device(folder: &Path) -> Option<PathBuf> {
    let number = fs::metadata(existing(folder)?).ok()?.dev();
    let by_number = PathBuf::from(format!("/sys/dev/block/{}:{}", major(number), minor(number)));
    by_number.canonicalize().ok().or_else(|| {
        let source = Path::new(&mount(folder)?.source).canonicalize().ok()?;
        Path::new("/sys/class/block").join(source.file_name()?).canonicalize().ok()
    })
}

/// As the C library takes them out of a device number (makedev(3)).
const fn major(number: u64) -> u64 {
    ((number >> 8) & 0xfff) | ((number >> 32) & !0xfff)
}

const fn minor(number: u64) -> u64 {
    (number & 0xff) | ((number >> 12) & !0xff)
}

/// A partition has no queue: its disk, the folder above, has it.
fn described(device: &Path) -> Option<String> {
    let disk = if device.join("queue").is_dir() { device } else { device.parent()? };
    let name = disk.file_name()?.to_str()?.to_owned();
    let rotational = match line(disk.join("queue/rotational")).as_str() {
        "0" => "no".into(),
        "1" => "yes".into(),
        _ => String::new(),
    };
    let told = [
        ("", line(disk.join("device/model"))),
        ("rotational ", rotational),
        ("scheduler ", chosen(&line(disk.join("queue/scheduler")))),
        ("cache ", line(disk.join("queue/write_cache"))),
    ];
    let told = told.into_iter().filter(|(_, value)| !value.is_empty());
    let words = told.map(|(what, value)| format!("{what}{value}"));
    Some([name].into_iter().chain(words).collect::<Vec<_>>().join(", "))
}

/// `none [mq-deadline] kyber`: the one in brackets.
fn chosen(schedulers: &str) -> String {
    let chosen = schedulers.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    chosen.map_or(schedulers, |(chosen, _)| chosen).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_taken_apart() {
        assert_eq!((major(0xfe00), minor(0xfe00)), (254, 0));
        assert_eq!((major(0x10_0801), minor(0x10_0801)), (8, 257));
    }

    #[test]
    fn a_partition_is_described_by_its_disk() {
        let scratch = tempfile::tempdir().expect("a scratch folder");
        let disk = scratch.path().join("sda");
        for (name, text) in [
            ("queue/rotational", "1\n"),
            ("queue/scheduler", "none [mq-deadline] bfq\n"),
            ("queue/write_cache", "write back\n"),
            ("device/model", "Disk 9000   \n"),
            ("sda1/partition", "1\n"),
        ] {
            let file = disk.join(name);
            fs::create_dir_all(file.parent().expect("has one")).expect("made");
            fs::write(file, text).expect("written");
        }
        let expected = "sda, Disk 9000, rotational yes, scheduler mq-deadline, cache write back";
        assert_eq!(described(&disk).as_deref(), Some(expected));
        assert_eq!(described(&disk.join("sda1")).as_deref(), Some(expected));
        fs::remove_file(disk.join("device/model")).expect("removed");
        fs::write(disk.join("queue/scheduler"), "none\n").expect("written");
        assert_eq!(
            described(&disk).as_deref(),
            Some("sda, rotational yes, scheduler none, cache write back")
        );
    }
}
