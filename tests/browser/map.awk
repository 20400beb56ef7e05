# A sweep of three systems, made from the header and the one row of a template: four grids of five batches and five
# concurrencies with ties, a cell that failed and cells that were not measured, and rows at rates. Wants: run_id, rounds,
# and columns.awk before it.

NR == 2 {
  split("1 10 100 1000 8189", batches, " ")
  split("1 4 16 64 256", clients, " ")
  for (round = 1; round <= rounds; round++) {
    for (grid = 0; grid < 4; grid++)
      for (i = 1; i <= 5; i++)
        for (j = 1; j <= 5; j++)
          # The largest cells of the last grid had no room in the budget.
          if (grid < 3 || i + j < 9) cell(grid % 2 ? 10000 : 2, grid > 1 ? 1000 : 0, batches[i], clients[j])
    for (rate = 1000; rate <= 64000; rate *= 4) at_rate(rate)
  }
}

# A little to and fro, of each system its own.
function moved(ns, salt) { return int(ns * (1 + ((round * 7 + salt * 3) % 5) / 60)) }

function cell(accounts, rtt_us, batch, clients, rtt, parallel) {
  set("suite", "sweep"); set("benchmark", "transfers"); set("durability", "fsync"); set("arrivals", "closed")
  set("accounts", accounts); set("batch", batch); set("clients", clients); set("rtt_us", rtt_us ? rtt_us : "")
  rtt = rtt_us * 1000; parallel = clients < 16 ? clients : 16
  one("tigerbeetle", (400000 + rtt + batch * 900) / clients + batch * 800, 0)
  one("redis", (90000 + rtt) / parallel + batch * (accounts == 2 ? 1600 : 3200), 1)
  one("postgres", (250000 + rtt) / (accounts == 2 ? 1 : parallel) + batch * 3100, 2)
  if (batch == 1) {
    set("style", "interactive")
    one("postgres", (500000 + 5 * rtt) / (accounts == 2 ? 1 : parallel), 3)
    set("style", "")
  }
}

function at_rate(rate) {
  set("accounts", 10000); set("batch", 1); set("clients", 64); set("rtt_us", "")
  set("arrivals", "poisson"); set("rate_per_s", rate)
  set("saturated", rate > 20000 ? "yes" : "no")
  one("tigerbeetle", 300000 + rate * 10, 0)
  one("redis", 90000 + rate * rate / 2000, 1)
  one("postgres", 250000 + rate * rate / 500, 2)
  set("arrivals", "closed"); set("rate_per_s", ""); set("saturated", "")
}

function one(whose, ns, salt, ops, clients) {
  ns = moved(ns, salt); ops = 1000; clients = $place["clients"]
  set("run_id", run_id); set("round", round); set("started_unix_s", round); set("system", whose)
  set("ops", ops); set("requests", ops); set("commits", ops); set("elapsed_ns", ns * ops); set("ns_per_op", ns)
  set("ns_per_transfer", ""); set("transfers_per_s", int(1e9 * $place["batch"] / ns))
  set("verified", whose == "postgres" && clients == 256 && $place["batch"] == 8189 ? "no" : "yes")
  set("latency_ns_min", int(ns * 0.8)); set("latency_ns_mean", ns * clients); set("latency_ns_p50", int(ns * clients * 0.97))
  set("latency_ns_p90", int(ns * clients * 1.2)); set("latency_ns_p99", int(ns * clients * 1.9))
  set("latency_ns_p999", ""); set("latency_ns_max", ns * clients * 20)
  print
}
