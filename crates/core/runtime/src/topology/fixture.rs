//! File trees of other machines, for tests.

use std::fs;
use std::path::Path;

use evener_testing::Folder;

/// A directory that stands for `/` and goes away with the value.
pub(super) struct Tree(Folder);

/// A cache as a fixture states it: level, type, size, list of cpus.
pub(super) type CacheFiles<'a> = (u8, &'a str, &'a str, &'a str);

impl Tree {
    pub(super) fn new() -> Tree {
        Tree(Folder::new())
    }

    pub(super) fn root(&self) -> &Path {
        self.0.root()
    }

    pub(super) fn file(&self, path: &str, text: &str) {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().expect("below the root")).expect("directory");
        fs::write(path, text).expect("file");
    }

    pub(super) fn cpus(&self, online: &str, allowed: &str) {
        self.file("sys/devices/system/cpu/online", &format!("{online}\n"));
        self.file(
            "proc/self/status",
            &format!(
                "Name:\tx\nCpus_allowed:\tff\nCpus_allowed_list:\t{allowed}\nMems_allowed:\t1\n"
            ),
        );
    }

    pub(super) fn cpu(&self, id: usize, package: &str, siblings: &str, caches: &[CacheFiles<'_>]) {
        let dir = format!("sys/devices/system/cpu/cpu{id}");
        self.file(
            &format!("{dir}/topology/physical_package_id"),
            &format!("{package}\n"),
        );
        self.file(
            &format!("{dir}/topology/thread_siblings_list"),
            &format!("{siblings}\n"),
        );
        for (index, (level, kind, size, shared)) in caches.iter().enumerate() {
            let cache = format!("{dir}/cache/index{index}");
            self.file(&format!("{cache}/level"), &format!("{level}\n"));
            self.file(&format!("{cache}/type"), &format!("{kind}\n"));
            self.file(&format!("{cache}/size"), &format!("{size}\n"));
            self.file(&format!("{cache}/shared_cpu_list"), &format!("{shared}\n"));
        }
    }

    pub(super) fn cpu_file(&self, id: usize, name: &str, text: &str) {
        self.file(&format!("sys/devices/system/cpu/cpu{id}/{name}"), text);
    }

    pub(super) fn model(&self, name: &str) {
        self.file(
            "proc/cpuinfo",
            &format!("processor\t: 0\nvendor_id\t: x\nmodel name\t: {name}\n\nprocessor\t: 1\n"),
        );
    }
}
