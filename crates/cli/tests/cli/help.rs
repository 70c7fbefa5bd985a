//! Help texts and typing errors.

use evener_net::tcp::congestion::Algorithm;

use crate::run::{Folder, is_built};

/// Subcommands and what their help must mention.
const COMMANDS: &[(&str, &[&str])] = &[
    (
        "filter",
        &[
            "GRAPH",
            "-i, --input",
            "-o, --output",
            "--plan",
            "--workers",
            "--live",
            "--planes",
            "--affinity",
            "--explain",
            "--json",
            "--trace",
            "--no-memory",
            "--keep-partial",
            "--verbose",
            "--quiet",
            "auto, each, luma",
            "none, io-same, io-diff, module-diff",
            "Examples:",
            "testsrc:",
            "null:",
            "Ctrl-C",
        ],
    ),
    ("filters", &["FILTER", "Examples:"]),
    ("config", &["EVENER_CONFIG", "[image.serve]"]),
    ("completions", &["bash", "zsh", "fish", "Examples:"]),
    ("man", &["DIR", "Examples:"]),
    (
        "encode",
        &[
            "-i, --input",
            "-o, --output",
            "--preset",
            "ultrafast, superfast, veryfast",
            "--crf",
            "--qp",
            "--bitrate",
            "--maxrate",
            "--bufsize",
            "baseline, main",
            "--level",
            "--keyint",
            "psnr, ssim, zerolatency",
            "--psnr",
            "--ssim",
            "--filter",
            "--plan",
            "--workers",
            "--device",
            "--json",
            "--trace",
            "--keep-partial",
            "patent",
            "Examples:",
        ],
    ),
    ("net", &["run"]),
    (
        "net run",
        &[
            "--device",
            "--address",
            "--core",
            "--socket",
            "--congestion",
            "--metrics",
            "--status",
            "--spin",
            "--pcap",
            "tun:",
            "wire:",
            "SIGTERM",
            "Examples:",
        ],
    ),
    ("image", &["pack", "info", "verify", "unpack", "serve"]),
    (
        "image pack",
        &[
            "--codec",
            "--level",
            "--block",
            "--format",
            "--plan",
            "--workers",
            "--explain",
            "--json",
            "--trace",
            "  lz4    LZ4, the fastest",
            "Examples:",
        ],
    ),
    ("image info", &["--json", "--format", "Examples:"]),
    ("image verify", &["--json", "--workers", "Examples:"]),
    ("image unpack", &["--plan", "--workers", "Examples:"]),
    (
        "image serve",
        &[
            "--nbd",
            "--overlay",
            "--workers",
            "--cache",
            "--readahead",
            "--metrics",
            "--format",
            "--ublk",
            "--queues",
            "--depth",
            "--recover",
            "modprobe ublk_drv",
            "Examples:",
        ],
    ),
    ("net", &["exec"]),
    (
        "net exec",
        &[
            "--socket",
            "--listen",
            "<PROGRAM>",
            "dynamically",
            "Examples:",
        ],
    ),
    ("net", &["link"]),
    (
        "net link",
        &[
            "<A>",
            "<B>",
            "--delay",
            "--jitter",
            "--loss",
            "--duplicate",
            "--reorder",
            "--rate",
            "--queue",
            "--mark",
            "--seed",
            "tun:NAME, tap:NAME",
            "wire:PATH",
            "packet:INTERFACE",
            "Ctrl-C",
            "Examples:",
        ],
    ),
    (
        "plan",
        &[
            "product",
            "queens",
            "filter",
            "[[kind]]",
            "evener plans",
            "Examples:",
        ],
    ),
    (
        "plan product",
        &["--elements", "--all", "--json", "--page", "Examples:"],
    ),
    (
        "plan queens",
        &[
            "[N]",
            "--elements",
            "--all",
            "--json",
            "--page",
            "Examples:",
        ],
    ),
    (
        "plan filter",
        &[
            "<GRAPH>",
            "--size",
            "--elements",
            "--all",
            "--json",
            "--page",
            "Examples:",
        ],
    ),
    ("plans", &["Examples:", "evener plan,"]),
    (
        "keygen",
        &["-o, --output", "--age", "-y, --recipient", "Examples:"],
    ),
    (
        "encrypt",
        &[
            "[IN]...",
            "-o, --output",
            "-k, --key",
            "-p, --passphrase",
            "--passphrase-file",
            "--passphrase-fd",
            "-r, --recipient",
            "-R, --recipients-file",
            "-i, --identity",
            "--age",
            "-a, --armor",
            "--context",
            "Examples:",
        ],
    ),
    (
        "decrypt",
        &[
            "[IN]...",
            "-o, --output",
            "-k, --key",
            "-p, --passphrase",
            "--passphrase-file",
            "--passphrase-fd",
            "-i, --identity",
            "--context",
            "--range",
            "--verify",
            "Examples:",
        ],
    ),
    ("inspect", &["[IN]", "--json", "Examples:"]),
    (
        "rewrap",
        &[
            "-o, --output",
            "--in-place",
            "-i, --identity",
            "-p, --passphrase",
            "--passphrase-file",
            "--passphrase-fd",
            "-r, --recipient",
            "-R, --recipients-file",
            "--new-passphrase",
            "--new-passphrase-file",
            "Examples:",
        ],
    ),
    (
        "product",
        &[
            "--key",
            "--chain",
            "--plan",
            "--workers",
            "--json",
            "not protection",
            "Examples:",
        ],
    ),
    (
        "queens",
        &[
            "<N>",
            "--fundamental",
            "--show",
            "--svg",
            "--checkpoint",
            "--checkpoint-every",
            "--plan",
            "--workers",
            "--explain",
            "--json",
            "--trace",
            "Ctrl-C",
            "Examples:",
        ],
    ),
    (
        "topology",
        &["--kernels", "--json", "EVENER_CPU", "EVENER_DEVICE"],
    ),
    (
        "bench",
        &[
            "filters", "dispatch", "tuner", "crypt", "encode", "block", "product", "queens",
        ],
    ),
    (
        "bench crypt",
        &[
            "--bytes",
            "--in-place",
            "--workers",
            "--job",
            "--rounds",
            "--json",
            "--report",
            "Examples:",
        ],
    ),
    (
        "bench encode",
        &[
            "--clip <FILE>",
            "--job",
            "--workers",
            "--frames",
            "--rounds",
            "--json",
            "--report",
            "macroblock",
            "Examples:",
        ],
    ),
    (
        "bench product",
        &[
            "--blocks",
            "--workers",
            "--rounds",
            "--json",
            "--report",
            "Systems:",
            "Examples:",
        ],
    ),
    (
        "bench block",
        &["--workers", "--rounds", "--json", "Examples:"],
    ),
    (
        "bench filters",
        &[
            "--graph",
            "--size",
            "--plan",
            "--workers",
            "--affinity",
            "--frames",
            "--no-memory",
            "--ops",
            "--json",
            "--report",
        ],
    ),
    (
        "bench queens",
        &[
            "--n <N>",
            "--workers",
            "--split",
            "--rounds",
            "--json",
            "--report",
            "first-row",
            "Examples:",
        ],
    ),
    ("bench dispatch", &["--workers", "--rounds", "--json"]),
    (
        "bench tuner",
        &[
            "--part",
            "--graph",
            "--size",
            "--rounds",
            "--frames",
            "--workers",
            "--json",
            "--report",
            "disturbance",
            "bad-arm",
            "Examples:",
        ],
    ),
];

/// Those that this build has.
fn commands() -> impl Iterator<Item = &'static (&'static str, &'static [&'static str])> {
    COMMANDS.iter().filter(|(command, _)| is_built(command))
}

#[test]
fn net_run_explains_each_congestion_control() {
    let names = Algorithm::TABLE.map(|(name, _)| name).join(", ");
    let text = Folder::new().line("net run --help").succeeded().text();
    assert!(text.contains(&names), "no '{names}' in: {text}");
}

#[cfg(not(feature = "bench"))]
#[test]
fn a_build_without_benchmarks_says_how_to_have_them() {
    let folder = Folder::new();
    let done = folder.line("bench filters --graph A");
    done.failed(2, &["'bench'", "build it with --features bench"]);
}

#[test]
fn every_subcommand_explains_each_flag() {
    let folder = Folder::new();
    for (command, parts) in commands() {
        let done = folder.line(&format!("{command} --help"));
        let text = done.succeeded().text();
        for part in *parts {
            assert!(
                text.contains(part),
                "{command} --help has no '{part}':\n{text}"
            );
        }
        assert!(text.lines().all(|l| l.chars().count() <= 100), "{text}");
        let usage = text.lines().skip_while(|l| !l.starts_with("Usage:"));
        let mut usage = usage.take_while(|l| !l.is_empty());
        assert!(usage.all(|l| l.chars().count() <= 80), "{text}");
        assert_eq!(done.stderr, "");
        // One option below the other.
        let options = text.split("\nOptions:\n").nth(1).unwrap_or_default();
        let options = options.split("\n\n").next().unwrap_or_default();
        let last = options.contains("--help");
        assert!(
            last,
            "{command} --help has blank lines between options:\n{text}"
        );
    }
}

#[test]
fn the_first_page_lists_the_subcommands() {
    let folder = Folder::new();
    let text = folder.line("--help").succeeded().text();
    for (command, _) in commands() {
        let first = command.split(' ').next().unwrap();
        assert!(text.contains(&format!("  {first} ")), "{text}");
    }
    for part in ["EVENER_CPU", "EVENER_LOG", "Exit status"] {
        assert!(text.contains(part), "{text}");
    }
    let version = folder.line("--version").succeeded().text();
    assert_eq!(
        version.trim(),
        format!("evener {}", env!("CARGO_PKG_VERSION"))
    );
}

#[test]
fn nothing_at_all_shows_the_help() {
    let folder = Folder::new();
    for line in ["", "bench", "image"]
        .into_iter()
        .filter(|line| is_built(line))
    {
        let done = folder.line(line);
        assert_eq!(done.status, Some(2));
        assert!(done.stderr.contains("Usage:"), "{}", done.stderr);
    }
}

#[test]
fn typing_errors_are_answered_with_the_nearest() {
    let folder = Folder::new();
    for (line, near) in [
        ("filtr blur", "'filter', 'filters'"),
        ("help filtr", "'filter'"),
        ("help image pak", "'pack'"),
        ("filter blur -i a -o b --explian", "'--explain'"),
        (
            "filter blur -i a -o b --planes luna",
            "; did you mean `luma`?",
        ),
        (
            "filter blur -i a -o b --affinity io-some",
            "; did you mean `io-same`?",
        ),
        (
            "filters crp",
            "'crp' for '[FILTER]...'; did you mean `crop`?",
        ),
        ("plan prodct --elements a", "'product'"),
        ("plan product --element a", "'--elements'"),
        ("plans product", "evener plan product"),
        ("bench dispatsh", "'dispatch'"),
    ]
    .into_iter()
    .filter(|(line, _)| is_built(line))
    {
        folder.line(line).failed(2, &[near, "see --help"]);
    }
}
