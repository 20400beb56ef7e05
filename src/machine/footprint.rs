//! What a folder takes on its disk.

use std::{
    collections::BTreeSet,
    fs, io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

/// stat(2) counts in these, whatever the filesystem's own are.
const BLOCK_BYTES: u64 = 512;

/// Bytes allocated to the folder and all that is in it: holes are not, a file of several names is once, and links are not
/// followed. `None` where some of it may not be read; what a running server removes meanwhile is left out.
#[must_use]
pub fn allocated_bytes(folder: &Path) -> Option<u64> {
    let mut bytes = fs::symlink_metadata(folder).ok()?.blocks();
    let (mut folders, mut several_names) = (vec![folder.to_owned()], BTreeSet::new());
    while let Some(folder) = folders.pop() {
        for (path, metadata) in if_there(entries(&folder)).ok()?.unwrap_or_default() {
            let is_file_of_several = metadata.nlink() > 1 && !metadata.is_dir();
            if is_file_of_several && !several_names.insert((metadata.dev(), metadata.ino())) {
                continue;
            }
            bytes += metadata.blocks();
            if metadata.is_dir() {
                folders.push(path);
            }
        }
    }
    Some(bytes * BLOCK_BYTES)
}

fn entries(folder: &Path) -> io::Result<Vec<(PathBuf, fs::Metadata)>> {
    let mut entries = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if let Some(metadata) = if_there(entry.metadata())? {
            entries.push((entry.path(), metadata));
        }
    }
    Ok(entries)
}

/// Nothing where it is gone by now.
fn if_there<T>(found: io::Result<T>) -> io::Result<Option<T>> {
    match found {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        found => found.map(Some),
    }
}

#[cfg(test)]
mod tests {
    use std::{io::Write, os::unix::fs::symlink};

    use super::*;

    /// A scratch folder, and what a folder without anything takes there.
    fn scratch() -> (tempfile::TempDir, u64) {
        let folder = tempfile::tempdir().expect("a scratch folder");
        let empty = allocated_bytes(folder.path()).expect("readable");
        (folder, empty)
    }

    fn write(path: &Path, bytes: usize) {
        let mut file = fs::File::create(path).expect("made");
        file.write_all(&vec![1; bytes]).expect("written");
        // Some filesystems allocate no sooner.
        file.sync_all().expect("synced");
    }

    #[test]
    fn files_of_all_depths_count_by_their_blocks() {
        let (folder, empty) = scratch();
        let inner = folder.path().join("a/b");
        fs::create_dir_all(&inner).expect("made");
        write(&folder.path().join("one"), 100_000);
        write(&inner.join("two"), 100_000);
        let found = allocated_bytes(folder.path()).expect("readable") - empty;
        assert!((200_000..300_000).contains(&found), "{found}");
    }

    #[test]
    fn holes_and_second_names_take_nothing_and_links_are_not_followed() {
        let (folder, _) = scratch();
        let (elsewhere, _) = scratch();
        write(&elsewhere.path().join("large"), 1_000_000);
        write(&folder.path().join("one"), 100_000);
        let before = allocated_bytes(folder.path()).expect("readable");
        let sparse = fs::File::create(folder.path().join("sparse")).expect("made");
        sparse.set_len(1 << 40).expect("a hole");
        fs::hard_link(folder.path().join("one"), folder.path().join("again")).expect("linked");
        symlink(elsewhere.path(), folder.path().join("link")).expect("linked");
        let found = allocated_bytes(folder.path()).expect("readable") - before;
        assert!(found < 50_000, "{found}");
    }

    #[test]
    fn what_is_not_there_has_no_size() {
        let (folder, _) = scratch();
        assert_eq!(allocated_bytes(&folder.path().join("gone")), None);
    }
}
