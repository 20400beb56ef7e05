# A run of three systems and of the machine's floor, made from the header and the one row of a template. Wants:
# run_id, rounds, and columns.awk before it.

NR == 2 {
  for (round = 1; round <= rounds; round++) {
    # Ten times apart; so close that labels would cover each other; two alone, a thousand times apart.
    all("ledger", "single", "fsync", 1, 1, 2, 80000, 800000, 8000000)
    all("ledger", "parallel", "fsync", 64, 1, 10000, 24900, 25000, 25100)
    all("ledger", "batch", "memory", 1, 1000, 2, 0, 1000, 999999)
    all("seed", "basic", "shipped", 1, 1, 2, 700400, 185000, 700500)
    floors()
    calibration()
  }
  # A case of one sample.
  round = 1
  all("ledger", "two_phase", "os-cache", 1, 1, 2, 0, 400000, 0)
}

# A third of a percent more each round, and a little to and fro.
function drifting(ns) { return int(ns * (1 + round / 300 + (round * 7 % 5) / 100)) }

function all(suite, benchmark, durability, clients, batch, accounts, tigerbeetle, redis, postgres) {
  set("suite", suite); set("benchmark", benchmark); set("durability", durability)
  set("clients", clients); set("batch", batch); set("accounts", accounts)
  one("tigerbeetle", tigerbeetle, durability == "fsync" || durability == "shipped")
  one("redis", redis, durability == "fsync")
  one("postgres", postgres, durability == "fsync" || durability == "shipped")
}

function floors() {
  set("suite", "floor"); set("durability", "shipped"); set("clients", 1); set("batch", 1); set("accounts", 2)
  set("benchmark", "clock"); one("machine", 40, 0)
  set("benchmark", "harness"); one("machine", 60, 0)
  set("benchmark", "loopback"); one("machine", 12000, 0)
  set("benchmark", "disk_dsync"); one("machine", 90000, 0)
  set("benchmark", "disk_fdatasync"); one("machine", 110000, 0)
}

function calibration() {
  set("suite", "calibration"); set("benchmark", "round_trip")
  one("redis", 40000, 0)
  set("generator", "peer"); one("redis", 41000, 0)
  set("generator", "own")
}

function one(whose, ns, commits, ops) {
  if (ns == 0) return
  ops = 1000
  ns = drifting(ns)
  set("run_id", run_id); set("round", round); set("started_unix_s", round); set("system", whose)
  set("ops", ops); set("requests", ops); set("commits", commits * ops)
  set("elapsed_ns", ns * ops); set("ns_per_op", ns); set("ns_per_transfer", ""); set("verified", "yes")
  set("transfers_per_s", whose == "machine" ? "" : int(1e9 * $place["batch"] / ns))
  set("latency_ns_min", int(ns * 0.8)); set("latency_ns_mean", ns); set("latency_ns_p50", int(ns * 0.97))
  set("latency_ns_p90", int(ns * 1.2)); set("latency_ns_p99", int(ns * 1.9))
  set("latency_ns_p999", whose == "redis" ? "" : ns * 4); set("latency_ns_max", ns * 20)
  print
}
