//! Whether this is a machine at all.

use std::{env, path::Path};

use super::line;

/// `none`, `VM`, `VM (Amazon EC2)`, `container (docker)`, `VM (KVM), container (docker)`.
pub fn look(cpuinfo: &str) -> String {
    let vendor = line("/sys/class/dmi/id/sys_vendor");
    let product = line("/sys/class/dmi/id/product_name");
    let xen = line("/sys/hypervisor/type");
    let is_file = |path: &str| Path::new(path).exists();
    let container = [
        (env::var("container").unwrap_or_default(), true),
        (line("/run/systemd/container"), true),
        ("docker".into(), is_file("/.dockerenv")),
        ("podman".into(), is_file("/run/.containerenv")),
    ];
    let container = container.into_iter().find(|(name, is_it)| *is_it && !name.is_empty());
    told(vm(cpuinfo, &vendor, &product, &xen), container.map(|(name, _)| name))
}

/// x86 CPUs show a hypervisor by a flag. Others have none, so that there the maker's name has to tell.
fn vm(cpuinfo: &str, vendor: &str, product: &str, xen: &str) -> Option<String> {
    const VENDORS: [&str; 9] = [
        "QEMU",
        "Amazon EC2",
        "Google",
        "Microsoft Corporation",
        "VMware",
        "Xen",
        "innotek",
        "Red Hat",
        "Parallels",
    ];
    let mut flags = cpuinfo.lines().filter(|line| line.starts_with("flags"));
    let is_flagged =
        flags.next().is_some_and(|flags| flags.split_whitespace().any(|flag| flag == "hypervisor"));
    let has_flags = cpuinfo.lines().any(|line| line.starts_with("flags"));
    let is_named = !has_flags && VENDORS.iter().any(|known| vendor.starts_with(known));
    if !(is_flagged || is_named || xen == "xen") {
        return None;
    }
    let mut names = [vendor, product].to_vec();
    names.dedup();
    names.retain(|name| !name.is_empty());
    Some(if names.is_empty() { xen.to_owned() } else { names.join(" ") })
}

fn told(vm: Option<String>, container: Option<String>) -> String {
    let named =
        |what: &str, name: String| if name.is_empty() { what.into() } else { format!("{what} ({name})") };
    let told = [vm.map(|name| named("VM", name)), container.map(|name| named("container", name))];
    let told: Vec<String> = told.into_iter().flatten().collect();
    if told.is_empty() { "none".into() } else { told.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BARE: &str = "flags\t\t: fpu vme sse2\n";
    const GUEST: &str = "flags\t\t: fpu hypervisor sse2\n";

    #[test]
    fn a_machine_of_its_own_is_told_from_a_guest() {
        let vm = |cpuinfo, vendor| vm(cpuinfo, vendor, "c5.metal", "");
        assert_eq!(vm(BARE, "Amazon EC2"), None, "bare metal at a cloud");
        assert_eq!(vm(GUEST, "Amazon EC2").as_deref(), Some("Amazon EC2 c5.metal"));
        assert_eq!(vm("Features : fp asimd\n", "QEMU").as_deref(), Some("QEMU c5.metal"));
        assert_eq!(vm("Features : fp asimd\n", "Ampere"), None);
        assert_eq!(super::vm(GUEST, "", "", "").as_deref(), Some(""));
        assert_eq!(super::vm(BARE, "", "", "xen").as_deref(), Some("xen"));
        assert_eq!(super::vm(GUEST, "QEMU", "QEMU", "").as_deref(), Some("QEMU"));
    }

    #[test]
    fn guests_and_containers_are_told_together() {
        assert_eq!(told(None, None), "none");
        assert_eq!(told(Some(String::new()), None), "VM");
        assert_eq!(told(Some("KVM".into()), Some("docker".into())), "VM (KVM), container (docker)");
    }
}
