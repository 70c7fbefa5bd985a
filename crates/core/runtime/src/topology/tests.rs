use super::fixture::Tree;
use super::*;
use crate::plan::Placement;

fn read(tree: &Tree) -> Topology {
    Topology::read(tree.root(), Simd::Scalar, 4)
}

fn ids(topology: &Topology, class: CoreClass) -> Vec<usize> {
    topology
        .cpus
        .iter()
        .filter(|cpu| cpu.class == class)
        .map(|cpu| cpu.id)
        .collect()
}

/// 2 performance cores with SMT (cpus 0-3), a module of 4 efficiency cores (4-7), a shared third level.
fn intel_hybrid() -> Tree {
    let tree = Tree::new();
    tree.model("12th Gen Intel(R) Core(TM)  i5-1235U");
    tree.cpus("0-7", "0-7");
    tree.file("sys/devices/cpu_core/cpus", "0-3\n");
    tree.file("sys/devices/cpu_atom/cpus", "4-7\n");
    tree.file("sys/devices/system/node/online", "0\n");
    tree.file("sys/devices/system/node/node0/cpulist", "0-7\n");
    tree.file(
        "sys/devices/system/node/node0/meminfo",
        "Node 0 MemTotal:       16384 kB\n",
    );
    for cpu in 0..4 {
        let own = if cpu < 2 { "0-1" } else { "2-3" };
        tree.cpu(
            cpu,
            "0",
            own,
            &[
                (1, "Data", "48K", own),
                (1, "Instruction", "32K", own),
                (2, "Unified", "1280K", own),
                (3, "Unified", "12288K", "0-7"),
            ],
        );
    }
    for cpu in 4..8 {
        let own = cpu.to_string();
        tree.cpu(
            cpu,
            "0",
            &own,
            &[
                (1, "Data", "32K", &own),
                (1, "Instruction", "64K", &own),
                (2, "Unified", "2048K", "4-7"),
                (3, "Unified", "12288K", "0-7"),
            ],
        );
    }
    tree
}

/// 4 cores with SMT, the siblings of cpu n at n + 4, two third-level caches.
fn amd_smt() -> Tree {
    let tree = Tree::new();
    tree.model("AMD Ryzen 3 3100 4-Core Processor");
    tree.cpus("0-7", "0-7");
    for cpu in 0..8 {
        let core = cpu % 4;
        let own = format!("{core},{}", core + 4);
        let complex = if core < 2 { "0-1,4-5" } else { "2-3,6-7" };
        tree.cpu(
            cpu,
            "0",
            &own,
            &[
                (1, "Data", "32K", &own),
                (2, "Unified", "512K", &own),
                (3, "Unified", "8192K", complex),
            ],
        );
        // Preferred cores differ a little in frequency and are of one class all the same.
        tree.cpu_file(
            cpu,
            "cpufreq/cpuinfo_max_freq",
            &format!("{}\n", 3_900_000 - core * 100_000),
        );
    }
    tree
}

/// 2 packages of 2 cores, a NUMA node each, and a node of memory only.
fn server() -> Tree {
    let tree = Tree::new();
    tree.model("Intel(R) Xeon(R) Gold 6130 CPU @ 2.10GHz");
    tree.cpus("0-3", "0-3");
    tree.file("sys/devices/system/node/online", "0-2\n");
    for (node, cpus) in [(0, "0,2"), (1, "1,3"), (2, "")] {
        tree.file(
            &format!("sys/devices/system/node/node{node}/cpulist"),
            &format!("{cpus}\n"),
        );
    }
    for cpu in 0..4usize {
        let own = cpu.to_string();
        let package = cpu % 2;
        let all = if package == 0 { "0,2" } else { "1,3" };
        tree.cpu(
            cpu,
            &package.to_string(),
            &own,
            &[
                (1, "Data", "32K", &own),
                (2, "Unified", "1024K", &own),
                (3, "Unified", "22528K", all),
            ],
        );
    }
    tree
}

/// Four small, three medium and one large core; the kernel says nothing of caches.
fn arm() -> Tree {
    let tree = Tree::new();
    tree.cpus("0-7", "0-7");
    tree.file(
        "proc/cpuinfo",
        "processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd05\n",
    );
    tree.file("sys/firmware/devicetree/base/model", "Example Board 5\0");
    for cpu in 0..8 {
        tree.cpu(cpu, "-1", &cpu.to_string(), &[]);
        let (capacity, cluster) = match cpu {
            0..4 => (250, "0-3"),
            4..7 => (620, "4-6"),
            _ => (1024, "7"),
        };
        tree.cpu_file(cpu, "cpu_capacity", &format!("{capacity}\n"));
        tree.cpu_file(cpu, "topology/cluster_cpus_list", &format!("{cluster}\n"));
    }
    tree
}

#[test]
fn intel_hybrid_has_classes_and_modules() {
    let topology = read(&intel_hybrid());
    assert_eq!(topology.model, "12th Gen Intel(R) Core(TM) i5-1235U");
    assert_eq!(ids(&topology, CoreClass::Performance), [0, 1, 2, 3]);
    assert_eq!(ids(&topology, CoreClass::Efficiency), [4, 5, 6, 7]);
    assert_eq!((topology.workers(), topology.cores()), (8, 6));
    assert_eq!(topology.cpus[1].siblings, [0, 1]);
    assert_eq!(topology.cpus[5].siblings, [5]);
    assert_eq!(topology.cpus[5].module, [4, 5, 6, 7]);
    assert_eq!(
        topology.private_cache(),
        640 << 10,
        "1280 KiB between two SMT siblings"
    );
    assert_eq!(
        topology
            .caches
            .iter()
            .filter(|cache| cache.level == 2)
            .count(),
        3
    );
    assert_eq!(
        topology.nodes,
        [Node {
            id: 0,
            cpus: (0..8).collect(),
            memory: Some(16 << 20)
        }]
    );
    assert_eq!(
        topology.machine_key(),
        "12th-gen-intel-r-core-tm-i5-1235u;cores=2p+4e;workers=8;simd=scalar;l1=48k;l2=2048k;l3=12288k"
    );
}

#[test]
fn display_is_the_text_users_read() {
    let expected = "\
model     12th Gen Intel(R) Core(TM) i5-1235U
cores     2 performance, 4 efficiency
cpus      8 (0-7)
simd      scalar
L1d       2 \u{d7} 48 KiB, shared by 2 cpus
L1d       4 \u{d7} 32 KiB
L1i       2 \u{d7} 32 KiB, shared by 2 cpus
L1i       4 \u{d7} 64 KiB
L2        2 \u{d7} 1.25 MiB, shared by 2 cpus
L2        1 \u{d7} 2 MiB, shared by 4 cpus
L3        1 \u{d7} 12 MiB, shared by 8 cpus
node 0    cpus 0-7, 16 MiB
workers   8, 640 KiB of private cache each";
    assert_eq!(read(&intel_hybrid()).to_string(), expected);
}

#[test]
fn a_process_confined_to_efficiency_cores_knows_it() {
    let tree = intel_hybrid();
    tree.cpus("0-7", "4-5");
    let topology = read(&tree);
    assert_eq!(ids(&topology, CoreClass::Efficiency), [4, 5]);
    assert_eq!((topology.workers(), topology.online), (2, 8));
    assert_eq!(
        topology.private_cache(),
        512 << 10,
        "a quarter of the module's 2 MiB"
    );
    assert!(
        topology
            .to_string()
            .contains("cpus      2 (4-5) of 8 online"),
        "{topology}"
    );
}

#[test]
fn amd_smt_is_one_class() {
    let topology = read(&amd_smt());
    assert_eq!(ids(&topology, CoreClass::Performance).len(), 8);
    assert_eq!((topology.workers(), topology.cores()), (8, 4));
    assert_eq!(topology.cpus[6].siblings, [2, 6]);
    assert_eq!(topology.cpus[6].core, topology.cpus[2].core);
    assert_eq!(topology.private_cache(), 256 << 10);
    assert!(topology.nodes.is_empty());
}

#[test]
fn server_has_packages_and_nodes() {
    let topology = read(&server());
    assert_eq!(
        topology
            .cpus
            .iter()
            .map(|cpu| cpu.package)
            .collect::<Vec<_>>(),
        [0, 1, 0, 1]
    );
    assert_eq!(
        topology.cpus.iter().map(|cpu| cpu.node).collect::<Vec<_>>(),
        [0, 1, 0, 1]
    );
    assert_eq!(topology.nodes.len(), 2, "the node without cpus is left out");
    assert_eq!(topology.private_cache(), 1 << 20);
    assert!(
        topology.to_string().contains("cores     4, in 2 packages"),
        "{topology}"
    );
}

#[test]
fn arm_classes_come_from_capacity_and_caches_from_nowhere() {
    let topology = read(&arm());
    assert_eq!(topology.model, "Example Board 5");
    assert_eq!(ids(&topology, CoreClass::Efficiency), [0, 1, 2, 3]);
    assert_eq!(ids(&topology, CoreClass::Performance), [4, 5, 6, 7]);
    assert_eq!(
        topology.cpus[5].module,
        [4, 5, 6],
        "clusters stand in for unknown caches"
    );
    assert!(topology.cpus.iter().all(|cpu| cpu.package == 0));
    assert_eq!(topology.private_cache(), DEFAULT_PRIVATE_CACHE);
    assert_eq!(
        topology.machine_key(),
        "example-board-5;cores=4p+4e;workers=8;simd=scalar"
    );
}

#[test]
fn classes_are_those_of_the_machine_not_of_the_allowed_cpus() {
    let tree = arm();
    tree.cpus("0-6", "2-7");
    let topology = read(&tree);
    assert_eq!(ids(&topology, CoreClass::Efficiency), [2, 3]);
    assert_eq!(
        ids(&topology, CoreClass::Performance),
        [4, 5, 6],
        "cpu 7 is offline"
    );
    tree.cpus("0-7", "0-1");
    assert_eq!(ids(&read(&tree), CoreClass::Efficiency), [0, 1]);
}

#[test]
fn classes_come_from_frequency_where_nothing_else_tells() {
    let tree = Tree::new();
    tree.cpus("0-3", "0-3");
    for (cpu, freq) in [
        (0, 5_100_000),
        (1, 5_000_000),
        (2, 3_300_000),
        (3, 3_300_000),
    ] {
        tree.cpu_file(cpu, "cpufreq/cpuinfo_max_freq", &freq.to_string());
    }
    assert_eq!(ids(&read(&tree), CoreClass::Efficiency), [2, 3]);
}

#[test]
fn without_sysfs_there_are_defaults() {
    let topology = read(&Tree::new());
    assert_eq!(
        topology.cpus.iter().map(|cpu| cpu.id).collect::<Vec<_>>(),
        [0, 1, 2, 3]
    );
    assert_eq!(
        (topology.workers(), topology.cores(), topology.online),
        (4, 4, 4)
    );
    assert_eq!(topology.private_cache(), DEFAULT_PRIVATE_CACHE);
    assert_eq!(topology.model, std::env::consts::ARCH);
    assert_eq!(topology.placement(Placement::IoDiff, 2, 0).cpus, [[1], [2]]);
}

#[test]
fn without_sysfs_numbers_that_could_be_are_not_counted() {
    let tree = Tree::new();
    tree.file("proc/self/status", "Cpus_allowed_list:\t0-127\n");
    let topology = read(&tree);
    assert_eq!((topology.workers(), topology.parallelism()), (4, 4.0));
}

#[test]
fn damaged_files_are_as_missing_ones() {
    let tree = amd_smt();
    tree.file("sys/devices/system/cpu/online", "0-4294967295");
    tree.file("proc/self/status", "Cpus_allowed_list: all of them\n");
    tree.cpu_file(0, "topology/thread_siblings_list", "7-3");
    tree.cpu_file(0, "topology/physical_package_id", "first");
    tree.cpu_file(0, "cache/index0/size", "lots");
    tree.cpu_file(0, "cache/index1/type", "Prefetch");
    tree.cpu_file(0, "cache/index2/shared_cpu_list", "9");
    let topology = Topology::read(tree.root(), Simd::Scalar, 1);
    assert_eq!(topology.cpus.len(), 1);
    assert_eq!(
        (
            topology.cpus[0].siblings.as_slice(),
            topology.cpus[0].package
        ),
        (&[0][..], 0)
    );
    assert_eq!(topology.caches.len(), 1);
    assert_eq!(topology.caches[0].cpus, [0]);
    assert_eq!(
        topology.private_cache(),
        DEFAULT_PRIVATE_CACHE,
        "an outer level is not private"
    );
}

#[test]
fn there_are_no_more_workers_than_a_pool_may_have() {
    let mut topology = read(&amd_smt());
    let cpu = topology.cpus[0].clone();
    topology.cpus = vec![cpu; 1100];
    assert_eq!(topology.workers(), crate::dispatch::MAX_WORKERS);
}

#[test]
fn the_quota_limits_workers() {
    let tree = amd_smt();
    tree.file("proc/self/cgroup", "0::/\n");
    for (max, workers) in [
        ("250000 100000", 3),
        ("1000 100000", 1),
        ("9900000 100000", 8),
    ] {
        tree.file("sys/fs/cgroup/cpu.max", max);
        assert_eq!(read(&tree).workers(), workers, "{max}");
    }
    assert!(
        read(&tree)
            .to_string()
            .contains("cpus      8 (0-7), quota of 99.00 cpus")
    );
}

#[test]
fn placement_takes_cores_before_siblings_and_near_before_far() {
    let topology = read(&amd_smt());
    let one_each = |cpus: &[usize]| cpus.iter().map(|&cpu| vec![cpu]).collect::<Vec<_>>();
    let cpus = |placement, workers, io| {
        let placed = topology.placement(placement, workers, io);
        assert_eq!(placed.note, None);
        placed.cpus
    };
    assert_eq!(cpus(Placement::None, 2, 0), [[], []] as [[usize; 0]; 2]);
    assert_eq!(cpus(Placement::IoSame, 3, 2), one_each(&[2, 3, 0]));
    assert_eq!(
        cpus(Placement::IoSame, 8, 2),
        one_each(&[2, 3, 0, 1, 6, 7, 4, 5])
    );
    assert_eq!(cpus(Placement::IoSame, 9, 2)[0], [2]);
    assert_eq!(
        cpus(Placement::IoSame, 9, 2)[1..],
        vec![(0..8).collect::<Vec<_>>(); 8]
    );
    assert_eq!(cpus(Placement::IoSame, 0, 2), Vec::<Vec<usize>>::new());
    assert_eq!(cpus(Placement::IoDiff, 3, 2), one_each(&[3, 0, 1]));
    assert_eq!(
        cpus(Placement::IoDiff, 7, 2),
        one_each(&[3, 0, 1, 7, 4, 5, 6])
    );
    assert_eq!(
        cpus(Placement::IoDiff, 8, 2),
        vec![vec![0, 1, 3, 4, 5, 6, 7]; 8]
    );
    assert_eq!(
        cpus(Placement::ModuleDiff, 6, 2),
        one_each(&[3, 0, 1, 7, 4, 5])
    );
    assert_eq!(
        cpus(Placement::ModuleDiff, 7, 2),
        vec![vec![0, 1, 3, 4, 5, 7]; 7]
    );
}

#[test]
fn as_many_workers_as_cpus_have_one_each() {
    let topology = read(&intel_hybrid());
    let sets = topology.one_each(Some(5));
    assert_eq!(sets[0], [5]);
    let mut cpus = sets.concat();
    cpus.sort_unstable();
    assert_eq!(cpus, (0..8).collect::<Vec<_>>());
    assert_eq!(topology.one_each(Some(99))[0], [0]);
}

#[test]
fn placement_prefers_performance_cores_and_the_own_package() {
    let hybrid = read(&intel_hybrid());
    let order = |placement, workers, io| hybrid.placement(placement, workers, io).cpus.concat();
    assert_eq!(order(Placement::IoSame, 8, 0), [0, 2, 4, 5, 6, 7, 1, 3]);
    assert_eq!(order(Placement::IoDiff, 3, 5), [0, 2, 4]);
    assert_eq!(
        order(Placement::ModuleDiff, 4, 5),
        [0, 2, 1, 3],
        "off the module of cpus 4-7"
    );
    let order = |io| {
        read(&server())
            .placement(Placement::IoDiff, 3, io)
            .cpus
            .concat()
    };
    assert_eq!(order(0), [2, 1, 3]);
    assert_eq!(order(3), [1, 0, 2]);
}

#[test]
fn placement_goes_by_node_and_package_where_caches_are_unknown() {
    let tree = Tree::new();
    tree.cpus("0-5", "0-5");
    tree.file("sys/devices/system/node/online", "0-2\n");
    for (node, cpus) in [(0, "2,5"), (1, "1,3"), (2, "0,4")] {
        tree.file(&format!("sys/devices/system/node/node{node}/cpulist"), cpus);
    }
    for (cpu, package) in [(0, "1"), (1, "0"), (2, "0"), (3, "0"), (4, "1"), (5, "0")] {
        tree.cpu(cpu, package, &cpu.to_string(), &[]);
    }
    let order = |io| {
        read(&tree)
            .placement(Placement::IoDiff, 5, io)
            .cpus
            .concat()
    };
    assert_eq!(order(5), [2, 1, 3, 0, 4]);
    assert_eq!(order(4), [0, 1, 2, 3, 5]);
}

#[test]
fn placement_says_what_it_cannot_do() {
    let tree = amd_smt();
    tree.cpus("0-7", "2,6");
    let topology = read(&tree);
    let placed = topology.placement(Placement::ModuleDiff, 1, 6);
    assert_eq!(placed.cpus, [[2]]);
    let note = placed.note.unwrap();
    assert!(
        note.contains("module-diff") && note.contains("io-diff is used"),
        "{note}"
    );

    tree.cpus("0-7", "3");
    let topology = read(&tree);
    for placement in [Placement::IoDiff, Placement::ModuleDiff] {
        let placed = topology.placement(placement, 2, 3);
        assert_eq!(placed.cpus, [[], []] as [[usize; 0]; 2]);
        assert!(placed.note.unwrap().contains("not pinned"));
    }
    let placed = topology.placement(Placement::IoSame, 1, 0);
    assert_eq!(placed.cpus, [[3]]);
    assert!(
        placed.note.unwrap().contains("cpu 0 is not among"),
        "a cpu that is not allowed"
    );
}

#[test]
fn keys_hold_no_character_a_file_name_cannot() {
    let tree = amd_smt();
    tree.model("  \u{b5}Chip/2 (\"x\") :*? ");
    let key = read(&tree).machine_key();
    assert!(key.starts_with("chip-2-x;cores=4;workers=8;"), "{key}");
    assert!(
        key.chars()
            .all(|c| c.is_ascii_alphanumeric() || "-+.;=".contains(c)),
        "{key}"
    );
}

#[test]
fn serialises_for_programs() {
    let json = serde_json::to_value(read(&intel_hybrid())).unwrap();
    assert_eq!(json["cpus"][5]["class"], "efficiency");
    assert_eq!(json["caches"][0]["kind"], "data");
    assert_eq!(json["simd"], "scalar");
    assert_eq!(json["quota"], serde_json::Value::Null);
    assert_eq!(json["nodes"][0]["memory"], 16 << 20);
}

#[test]
fn this_machine_is_read() {
    let topology = Topology::detect();
    let cpus = std::thread::available_parallelism().unwrap().get();
    assert!(topology.cpus.len() >= cpus, "{topology}");
    assert!((1..=topology.cpus.len()).contains(&topology.workers()));
    assert!(
        (4 << 10..=64 << 20).contains(&topology.private_cache()),
        "{topology}"
    );
    assert_eq!(topology.simd, Simd::detect());
    assert_eq!(topology, Topology::detect());
}
