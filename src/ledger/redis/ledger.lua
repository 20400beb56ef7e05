#!lua name=ledger_bench
-- The ledger suite's functions, loaded by ledger-bench.
--
-- Accounts and transfers with the meaning of TigerBeetle's, one FCALL a request. All is in one hash, KEYS[1]:
--   'a' .. id      an account: debits_pending, debits_posted, credits_pending, credits_posted (u64 each), limit (u8)
--   id (16 bytes)  the record of a transfer that came alone, or late to a long page, which is not written again for it
--   15 bytes       a page: the records of ids that have their first 15 bytes in common, after a byte that is 1 where
--                  more of them are fields of their own. Ids that rise, as they should, share pages: a batch of 8,189
--                  has some 33 fields in place of 8,189.
--   'p' .. id      how the pending transfer of that id was resolved: its kind, 2 or 3
--   'm'            counts: calls that stored something, transfers (u48 each)
-- A record is a transfer: last byte of its id, kind, debit and credit account's field (17 bytes each), amount (u64),
-- order (u48 .. u16: the call, and the place in it), pending id (post and void only). Or: last byte, 'F', for the id
-- of a transfer that failed for want of something that may come.
-- Integers are big-endian. A call reads all it needs, decides, then writes: an error can only arise before the first
-- write.
--
-- ARGV[1] of ledger_bench_create_transfers, a single one (n = 1 in a batch is the same, and slower):
--   2 (u8), id (16 bytes), kind (u8), then plain and pending: debit and credit account's field (17 bytes each), amount
--   (u64); post and void: pending id (16 bytes), amount (u64)
-- or a batch:
--   1 (u8), n, a, p (u16 each), n ids, a accounts' fields, each once, p pending ids, n kinds (u8), n pairs (u16 each),
--   n amounts (u64). A pair is the places, from 1, of debit and credit in the list of accounts; of a post or void the
--   place in the list of pending ids, and 0.
-- The reply has a place (u16, from 0) and a result (u16) for each transfer that failed.

-- Result codes: TigerBeetle's enum CreateTransferResult.
local ACCOUNTS_MUST_BE_DIFFERENT, PENDING_ID_MUST_NOT_BE_ZERO, PENDING_ID_MUST_BE_DIFFERENT = 12, 14, 16
local DEBIT_ACCOUNT_NOT_FOUND, CREDIT_ACCOUNT_NOT_FOUND = 21, 22
local PENDING_TRANSFER_NOT_FOUND, PENDING_TRANSFER_NOT_PENDING = 25, 26
local EXCEEDS_PENDING_TRANSFER_AMOUNT, PENDING_TRANSFER_HAS_DIFFERENT_AMOUNT = 31, 32
local PENDING_TRANSFER_ALREADY_POSTED, PENDING_TRANSFER_ALREADY_VOIDED = 33, 34
local EXISTS_WITH_DIFFERENT_FLAGS, EXISTS_WITH_DIFFERENT_DEBIT_ACCOUNT_ID = 36, 37
local EXISTS_WITH_DIFFERENT_CREDIT_ACCOUNT_ID, EXISTS_WITH_DIFFERENT_AMOUNT = 38, 39
local EXISTS_WITH_DIFFERENT_PENDING_ID, EXISTS = 40, 46
local OVERFLOWS_DEBITS_PENDING, OVERFLOWS_CREDITS_PENDING = 47, 48
local OVERFLOWS_DEBITS_POSTED, OVERFLOWS_CREDITS_POSTED = 49, 50
local OVERFLOWS_DEBITS, OVERFLOWS_CREDITS = 51, 52
local EXCEEDS_CREDITS = 54
local ID_ALREADY_FAILED = 68
local TRANSIENT = {
  [DEBIT_ACCOUNT_NOT_FOUND] = true, [CREDIT_ACCOUNT_NOT_FOUND] = true,
  [PENDING_TRANSFER_NOT_FOUND] = true, [EXCEEDS_CREDITS] = true,
}
local PLAIN, PENDING, POST, VOID = 0, 1, 2, 3
local FAILED = 70 -- "F", in place of a kind: an id that failed

local ACCOUNT, ACCOUNT_LIMBS, ACCOUNT_BYTES = "I8I8I8I8B", ">I4I4I4I4I4I4I4I4B", 33
local COUNTS = ">I6I6"
local BATCH_MAX = 8189
local UNKNOWN = 255 -- in place of the limit: no such account
local CHUNK = 4000 -- values on Lua's stack at once: unpack's limit is below 8,000
local P21, P31, P32, P53 = 2 ^ 21, 2 ^ 31, 2 ^ 32, 2 ^ 53
local WIDE = 2 ^ 60 -- stands in for the sums of an account that are kept in limbs
local ZERO_AMOUNT, ZERO_ID = "\0\0\0\0\0\0\0\0", "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
local KIND = { [0] = "\0", "\1", "\2", "\3" }
local LONG -- a value longer than hash-max-listpack-value: the hash is a table from the first, not a list to walk
local NO_ACCOUNT -- what is read in place of one
local BYTE = {} -- each byte as a string
local INDEX = {} -- the low half of a transfer's order: its place in the batch

-- While a library loads it sees neither redis.call nor Lua's own libraries: bound by the first call.
local call, struct_pack, struct_unpack, byte, sub, rep, concat, unpack_, pairs_of, ipairs_of
local function bind()
  call, struct_pack, struct_unpack = redis.call, struct.pack, struct.unpack
  byte, sub, rep, concat, unpack_, pairs_of = string.byte, string.sub, string.rep, table.concat, unpack, pairs
  ipairs_of = ipairs
  LONG = rep("\0", 1000)
  NO_ACCOUNT = rep("\0", 32) .. "\255"
  for i = 0, 255 do BYTE[i] = string.char(i) end
  for i = 1, BATCH_MAX do INDEX[i] = struct_pack(">I2", i) end
end

local function malformed(what) return redis.error_reply("ERR ledger_bench: malformed request: " .. what) end

-- The format of `count` times `item`. Kept: those of a whole chunk and the last two others.
local formats = {}
local function repeated(item, count)
  local known = formats[item]
  if not known then
    known = {}
    formats[item] = known
  end
  local format = known[count]
  if not format then
    format = ">" .. rep(item, count)
    if count ~= CHUNK and count ~= CHUNK / 2 and count ~= CHUNK / 5 then
      if known.older then known[known.older] = nil end
      known.older, known.newer = known.newer, count
    end
    known[count] = format
  end
  return format
end

-- `count` values of `item`, `width` bytes each, from `pos` of `s`.
local function column(item, width, s, pos, count)
  local values, done = {}, 0
  while done < count do
    local some = count - done
    if some > CHUNK then some = CHUNK end
    if done == 0 then
      values = { struct_unpack(repeated(item, some), s, pos) }
    else
      local more = { struct_unpack(repeated(item, some), s, pos + done * width) }
      for k = 1, some do values[done + k] = more[k] end
    end
    done = done + some
  end
  if count <= CHUNK then values[count + 1] = nil end -- struct.unpack ends with the next position
  return values
end

-- Puts the values of the fields `names[1..count]` that are there into `values`, at the same places.
local function read(key, names, count, values)
  for from = 1, count, CHUNK do
    local to = from + CHUNK - 1
    if to > count then to = count end
    local reply = call("HMGET", key, unpack_(names, from, to))
    for k = 1, to - from + 1 do
      local value = reply[k]
      if value then values[from + k - 1] = value end
    end
  end
end

local function write(key, pairs_, count)
  for from = 1, count, CHUNK do
    local to = from + CHUNK - 1
    if to > count then to = count end
    call("HSET", key, unpack_(pairs_, from, to))
  end
end

-- Of `count` ids from `pos` of `s`: the first 15 bytes and the last one, by turns.
local function split_ids(s, pos, count)
  local values, done = {}, 0
  while done < count do
    local some = count - done
    if some > CHUNK / 2 then some = CHUNK / 2 end
    if done == 0 then
      values = { struct_unpack(repeated("c15B", some), s, pos) }
    else
      local more = { struct_unpack(repeated("c15B", some), s, pos + done * 16) }
      for k = 1, 2 * some do values[2 * done + k] = more[k] end
    end
    done = done + some
  end
  return values
end

-- Puts the records of a page into it, by the last byte of the id.
local function open_page(page, text)
  page.text = text
  page.alone = byte(text) == 1
  local at, length = 2, #text
  while at < length do
    local low, kind = byte(text, at, at + 1)
    local to = at + (kind == FAILED and 1 or kind >= 2 and 67 or 51)
    page[low] = sub(text, at, to)
    at = to + 1
  end
end

-- The pages of all these ids (in split form), with what is known of each of the ids.
local function read_pages(key, pages, lists)
  local names, count = {}, 0
  for _, list in ipairs_of(lists) do
    local last
    for i = 1, 2 * list.count, 2 do
      local name = list[i]
      if name ~= last then
        last = name
        if not pages[name] then
          pages[name] = {}
          count = count + 1
          names[count] = name
        end
      end
    end
  end
  local texts, alone = {}, false
  read(key, names, count, texts)
  for k, text in pairs_of(texts) do
    local page = pages[names[k]]
    open_page(page, text)
    alone = alone or page.alone
  end
  if not alone then return end
  local ids, id_count, records = {}, 0, {}
  for _, list in ipairs_of(lists) do
    for i = 1, 2 * list.count, 2 do
      local page = pages[list[i]]
      if page.alone and not page[list[i + 1]] then
        id_count = id_count + 1
        ids[id_count] = list[i] .. BYTE[list[i + 1]]
      end
    end
  end
  read(key, ids, id_count, records)
  for k, record in pairs_of(records) do
    pages[sub(ids[k], 1, 15)][byte(record)] = record
  end
end

-- Appends what is new in each page to `out`. A long page is not written again for a few records: they become fields.
local function put_pages(out, o, pages, single)
  for name, page in pairs_of(pages) do
    local fresh = page.fresh
    if fresh then
      local text = fresh[1]
      if single or (#fresh - 1) * 200 < #text then
        for k = 2, #fresh do
          local record = fresh[k]
          out[o + 1], out[o + 2] = name .. sub(record, 1, 1), record
          o = o + 2
        end
        if not page.alone then
          out[o + 1], out[o + 2] = name, "\1" .. sub(text, 2)
          o = o + 2
        end
      else
        out[o + 1], out[o + 2] = name, concat(fresh)
        o = o + 2
      end
    end
  end
  return o
end

local function counts(value)
  if not value then return 0, 0 end
  return struct_unpack(COUNTS, value)
end

-- What a repeated id says: `v` is what is known of it.
local function known(v, kind, debit, credit, amount, pending_id)
  if byte(v, 2) == FAILED then return ID_ALREADY_FAILED end
  if byte(v, 2) ~= kind then return EXISTS_WITH_DIFFERENT_FLAGS end
  if kind >= POST then
    if sub(v, 53) ~= pending_id then return EXISTS_WITH_DIFFERENT_PENDING_ID end
    if kind == VOID and amount == ZERO_AMOUNT then return EXISTS end
  else
    if sub(v, 3, 19) ~= debit then return EXISTS_WITH_DIFFERENT_DEBIT_ACCOUNT_ID end
    if sub(v, 20, 36) ~= credit then return EXISTS_WITH_DIFFERENT_CREDIT_ACCOUNT_ID end
  end
  if sub(v, 37, 44) ~= amount then return EXISTS_WITH_DIFFERENT_AMOUNT end
  return EXISTS
end

-- Exact arithmetic above 2^53: two limbs of 32 bits, high first.
local function add(ah, al, bh, bl)
  local h, l = ah + bh, al + bl
  if l >= P32 then return h + 1, l - P32 end
  return h, l
end
local function subtract(ah, al, bh, bl)
  local h, l = ah - bh, al - bl
  if l < 0 then return h - 1, l + P32 end
  return h, l
end
local function above(ah, al, bh, bl) return ah > bh or (ah == bh and al > bl) end
local function limbs(x)
  local h = (x - x % P32) / P32
  return h, x - h * P32
end

-- The accounts of a batch, read once, in one flat table, five places each: debits_pending, debits_posted,
-- credits_pending, credits_posted, limit. The sums are doubles while all four are below 2^53; else they are in limbs in
-- `wide`, high first, and the doubles are WIDE, so that no test for the range of doubles passes.
local function widen(sums, wide, j)
  local w = wide[j]
  if w then return w end
  w = {}
  for k = 1, 4 do w[2 * k - 1], w[2 * k] = limbs(sums[5 * j - 5 + k]) end
  wide[j] = w
  return w
end
local function narrow(sums, wide, j)
  local w = wide[j]
  local fits = w[1] < P21 and w[3] < P21 and w[5] < P21 and w[7] < P21
  for k = 1, 4 do
    sums[5 * j - 5 + k] = fits and w[2 * k - 1] * P32 + w[2 * k] or WIDE
  end
  if fits then wide[j] = nil end
end

local function read_accounts(key, names, count)
  local sums, wide, s = {}, {}, 0
  for from = 1, count, CHUNK / 5 do
    local to = from + CHUNK / 5 - 1
    if to > count then to = count end
    local values = call("HMGET", key, unpack_(names, from, to))
    local some = to - from + 1
    for k = 1, some do
      if not values[k] then values[k] = NO_ACCOUNT end
    end
    local more = { struct_unpack(repeated(ACCOUNT, some), concat(values)) }
    if from == 1 then
      sums = more
    else
      for k = 1, 5 * some do sums[s + k] = more[k] end
    end
    s = s + 5 * some
    for k = 1, some do
      local at = s - 5 * (some - k)
      if sums[at - 4] + sums[at - 3] + sums[at - 2] + sums[at - 1] >= P53 then
        wide[from + k - 1] = { struct_unpack(ACCOUNT_LIMBS, values[k]) }
        narrow(sums, wide, from + k - 1)
      end
    end
  end
  return sums, wide
end

-- The first sum of `D` (debits) or `C` (credits) that a plain or pending transfer would take beyond 2^63-1. Both
-- posted sums are looked at for a pending one too, as TigerBeetle does.
local function overflow(D, C, kind, ah, al)
  local function passes(high, low) return add(high, low, ah, al) >= P31 end
  if kind == PENDING then
    if passes(D[1], D[2]) then return OVERFLOWS_DEBITS_PENDING end
    if passes(C[5], C[6]) then return OVERFLOWS_CREDITS_PENDING end
  end
  if passes(D[3], D[4]) then return OVERFLOWS_DEBITS_POSTED end
  if passes(C[7], C[8]) then return OVERFLOWS_CREDITS_POSTED end
  if passes(add(D[1], D[2], D[3], D[4])) then return OVERFLOWS_DEBITS end
  if passes(add(C[5], C[6], C[7], C[8])) then return OVERFLOWS_CREDITS end
end

-- A plain or pending transfer that may leave the range of doubles.
local function exact_transfer(sums, wide, d, c, kind, amount)
  local ah, al = struct_unpack(">I4I4", amount)
  local D, C = widen(sums, wide, d), widen(sums, wide, c)
  local result = overflow(D, C, kind, ah, al)
  if not result and sums[5 * d] == 1 then
    local high, low = add(D[1], D[2], D[3], D[4])
    high, low = add(high, low, ah, al)
    if above(high, low, D[7], D[8]) then result = EXCEEDS_CREDITS end
  end
  if not result then
    local first = kind == PENDING and 1 or 3
    D[first], D[first + 1] = add(D[first], D[first + 1], ah, al)
    C[first + 4], C[first + 5] = add(C[first + 4], C[first + 5], ah, al)
  end
  narrow(sums, wide, d)
  narrow(sums, wide, c)
  return result
end

-- The pending sums fall by `held`, the posted ones rise by `posted` (nil: a void).
local function exact_resolve(sums, wide, d, c, held, posted)
  local hh, hl = struct_unpack(">I4I4", held)
  local D, C = widen(sums, wide, d), widen(sums, wide, c)
  D[1], D[2] = subtract(D[1], D[2], hh, hl)
  C[5], C[6] = subtract(C[5], C[6], hh, hl)
  if posted then
    local ah, al = struct_unpack(">I4I4", posted)
    D[3], D[4] = add(D[3], D[4], ah, al)
    C[7], C[8] = add(C[7], C[8], ah, al)
  end
  narrow(sums, wide, d)
  narrow(sums, wide, c)
end

-- Appends the name and value of each dirty account to `out`, packed many at a time.
local function put_accounts(out, o, names, sums, wide, dirty, count)
  for from = 1, count, CHUNK / 5 do
    local to = from + CHUNK / 5 - 1
    if to > count then to = count end
    local packed = struct_pack(repeated(ACCOUNT, to - from + 1), unpack_(sums, 5 * from - 4, 5 * to))
    local at = 1
    for j = from, to do
      if dirty[j] then
        local w = wide[j]
        out[o + 1] = names[j]
        if w then
          out[o + 2] = struct_pack(ACCOUNT_LIMBS, w[1], w[2], w[3], w[4], w[5], w[6], w[7], w[8], sums[5 * j])
        else
          out[o + 2] = sub(packed, at, at + ACCOUNT_BYTES - 1)
        end
        o = o + 2
      end
      at = at + ACCOUNT_BYTES
    end
  end
  return o
end

local function amount_above(a, b)
  local ah, al = struct_unpack(">I4I4", a)
  local bh, bl = struct_unpack(">I4I4", b)
  return above(ah, al, bh, bl)
end

-- The columns of a batch; or nil and what is wrong with it.
local function parse_batch(request)
  if #request < 7 then return nil, "its head" end
  local _, n, a, p = struct_unpack(">BI2I2I2", request)
  if n < 1 or n > BATCH_MAX then return nil, "its count" end
  if #request ~= 7 + n * 29 + a * 17 + p * 16 then return nil, "its length" end
  local ids_at = 8
  local names_at = ids_at + n * 16
  local pending_at = names_at + a * 17
  local kinds_at = pending_at + p * 16
  local slots_at = kinds_at + n
  local amounts_at = slots_at + n * 4
  local batch = {
    n = n, a = a, p = p,
    ids = split_ids(request, ids_at, n),
    names = column("c17", 17, request, names_at, a),
    pending_ids = column("c16", 16, request, pending_at, p),
    pending_split = split_ids(request, pending_at, p),
    kinds = column("B", 1, request, kinds_at, n),
    slots = column("I2", 2, request, slots_at, 2 * n),
    amounts = column("c8", 8, request, amounts_at, n),
    sizes = column("I8", 8, request, amounts_at, n),
    slot_of = {},
  }
  batch.ids.count, batch.pending_split.count = n, p
  for j = 1, a do
    local name = batch.names[j]
    if batch.slot_of[name] then return nil, "an account twice" end
    batch.slot_of[name] = j
  end
  return batch
end

-- How the pending transfers that a batch names have ended; their accounts join the batch's.
local function read_pending(key, batch)
  local p, pending_ids, split = batch.p, batch.pending_ids, batch.pending_split
  local names, slot_of, marks, found, resolved = batch.names, batch.slot_of, {}, {}, {}
  for j = 1, p do marks[j] = "p" .. pending_ids[j] end
  read(key, marks, p, found)
  for j, mark in pairs_of(found) do resolved[pending_ids[j]] = byte(mark) end
  for j = 1, p do
    local hold = batch.pages[split[2 * j - 1]][split[2 * j]]
    if hold and byte(hold, 2) == PENDING then
      for place = 3, 20, 17 do
        local name = sub(hold, place, place + 16)
        if not slot_of[name] then
          batch.a = batch.a + 1
          names[batch.a] = name
          slot_of[name] = batch.a
        end
      end
    end
  end
  return resolved
end

-- Reads all that a batch's transfers depend on.
local function read_batch(key, batch)
  batch.pages = {}
  read_pages(key, batch.pages, { batch.ids, batch.pending_split })
  batch.resolved = batch.p > 0 and read_pending(key, batch) or {}
  batch.sums, batch.wide = read_accounts(key, batch.names, batch.a)
  batch.calls, batch.transfers = counts(call("HGET", key, "m"))
  batch.out, batch.o, batch.dirty = {}, 0, {}
  for j = 1, batch.a do batch.dirty[j] = false end
end

-- Why a hold cannot be posted or voided; nil if it can.
local function refuse_end(batch, hold, pending_id, kind, amount)
  if pending_id == ZERO_ID then return PENDING_ID_MUST_NOT_BE_ZERO end
  if not hold or byte(hold, 2) == FAILED then return PENDING_TRANSFER_NOT_FOUND end
  if byte(hold, 2) ~= PENDING then return PENDING_TRANSFER_NOT_PENDING end
  local held = sub(hold, 37, 44)
  if amount ~= held and amount_above(amount, held) then return EXCEEDS_PENDING_TRANSFER_AMOUNT end
  if kind == VOID and amount ~= held and amount ~= ZERO_AMOUNT then return PENDING_TRANSFER_HAS_DIFFERENT_AMOUNT end
  local ended = batch.resolved[pending_id]
  if ended then return ended == POST and PENDING_TRANSFER_ALREADY_POSTED or PENDING_TRANSFER_ALREADY_VOIDED end
end

-- Posts or voids a hold: moves its sums, and returns the accounts and the actual amount for its record.
local function end_pending(batch, hold, pending_id, kind, amount, size)
  local sums, held = batch.sums, sub(hold, 37, 44)
  local d, c = batch.slot_of[sub(hold, 3, 19)], batch.slot_of[sub(hold, 20, 36)]
  local freed, posted = struct_unpack(">I8", held), kind == POST and size or 0
  local debits, credits = 5 * d - 3, 5 * c - 1
  local debited, credited = sums[debits] + posted, sums[credits] + posted
  if freed < P53 and debited < P53 and credited < P53 then
    sums[debits - 1], sums[credits - 1] = sums[debits - 1] - freed, sums[credits - 1] - freed
    sums[debits], sums[credits] = debited, credited
  else
    exact_resolve(sums, batch.wide, d, c, held, kind == POST and amount)
  end
  batch.dirty[d], batch.dirty[c] = true, true
  batch.resolved[pending_id] = kind
  local out, o = batch.out, batch.o
  out[o + 1], out[o + 2] = "p" .. pending_id, KIND[kind]
  batch.o = o + 2
  return sub(hold, 3, 36) .. (kind == VOID and held or amount)
end

-- Decides each transfer of a batch in order, on what was read. One long loop for its speed: the tables that it touches
-- for every plain transfer are locals. Returns the failures; or nil and what is wrong with the request.
local function decide(batch)
  local ids, kinds, slots, amounts, sizes = batch.ids, batch.kinds, batch.slots, batch.amounts, batch.sizes
  local names, sums, wide, dirty, pages = batch.names, batch.sums, batch.wide, batch.dirty, batch.pages
  local order = struct_pack(">I6", batch.calls + 1)
  local failures, f, page, page_name = {}, 0, nil, nil
  for i = 1, batch.n do
    local name, low = ids[2 * i - 1], ids[2 * i]
    local kind, amount, size = kinds[i], amounts[i], sizes[i]
    local d, c = slots[2 * i - 1], slots[2 * i]
    local result, value
    if name ~= page_name then page, page_name = pages[name], name end
    local v = page[low]
    if size >= P53 and byte(amount) >= 128 then return nil, "an amount above 2^63-1" end
    if kind <= PENDING then
      local debit, credit = names[d], names[c]
      if not debit or not credit then return nil, "an account's place" end
      if v then
        result = known(v, kind, debit, credit, amount)
      elseif d == c then
        result = ACCOUNTS_MUST_BE_DIFFERENT
      elseif sums[5 * d] == UNKNOWN then
        result = DEBIT_ACCOUNT_NOT_FOUND
      elseif sums[5 * c] == UNKNOWN then
        result = CREDIT_ACCOUNT_NOT_FOUND
      else
        -- The places of the sums that rise.
        local debits, credits = 5 * d - 3, 5 * c - 1
        if kind == PENDING then debits, credits = debits - 1, credits - 1 end
        local debited, credited = sums[debits] + size, sums[credits] + size
        if debited >= P53 or credited >= P53 then
          result = exact_transfer(sums, wide, d, c, kind, amount)
        elseif sums[5 * d] == 1 and sums[5 * d - 4] + sums[5 * d - 3] + size > sums[5 * d - 1] then
          result = EXCEEDS_CREDITS
        else
          sums[debits], sums[credits] = debited, credited
        end
        if not result then
          value = BYTE[low] .. KIND[kind] .. debit .. credit .. amount .. order .. INDEX[i]
          dirty[d], dirty[c] = true, true
        end
      end
    elseif kind <= VOID then
      local pending_id = batch.pending_ids[d]
      if not pending_id or c ~= 0 then return nil, "a pending id's place" end
      local pending_name, pending_low = batch.pending_split[2 * d - 1], batch.pending_split[2 * d]
      local hold = pages[pending_name][pending_low]
      if v then
        result = known(v, kind, nil, nil, amount, pending_id)
      elseif pending_name == name and pending_low == low and pending_id ~= ZERO_ID then
        result = PENDING_ID_MUST_BE_DIFFERENT
      else
        result = refuse_end(batch, hold, pending_id, kind, amount)
        if not result then
          local moved = end_pending(batch, hold, pending_id, kind, amount, size)
          value = BYTE[low] .. KIND[kind] .. moved .. order .. INDEX[i] .. pending_id
        end
      end
    else
      return nil, "a kind"
    end
    if result then
      f = f + 1
      failures[f] = struct_pack(">I2I2", i - 1, result)
      if TRANSIENT[result] then value = BYTE[low] .. "F" end
    end
    if value then
      page[low] = value
      local fresh = page.fresh
      if fresh then
        fresh[#fresh + 1] = value
      else
        page.fresh = { page.text or "\0", value }
      end
      batch.changed = true
    end
  end
  batch.transfers = batch.transfers + batch.n - f
  return concat(failures)
end

local function create_batch(key, request)
  local batch, fault = parse_batch(request)
  if not batch then return malformed(fault) end
  read_batch(key, batch)
  local failures
  failures, fault = decide(batch)
  if not failures then return malformed(fault) end
  if batch.changed then
    local out = batch.out
    local o = put_pages(out, batch.o, batch.pages, batch.n == 1)
    o = put_accounts(out, o, batch.names, batch.sums, batch.wide, batch.dirty, batch.a)
    out[o + 1], out[o + 2] = "m", struct_pack(COUNTS, batch.calls + 1, batch.transfers)
    write(key, out, o + 2)
  end
  return failures
end

-- What marks that a page's ids are looked up one by one, once in 256 rising ids.
local function mark_page(page, name)
  if not page then return name, "\1" end
end

-- A plain or pending transfer that came alone, in the usual case: new, with both accounts there, all sums below 2^53.
-- Nil for any other, with nothing written.
local function move_one(key, request)
  local _, id, kind, debit, credit, size = struct_unpack(">Bc16Bc17c17I8", request)
  if size >= P53 or debit == credit then return end
  local page = sub(request, 2, 16)
  local r = call("HMGET", key, id, debit, credit, "m", page)
  local D, C, m, marked = r[2], r[3], r[4], r[5]
  if r[1] or not D or not C or not m or (marked and marked ~= "\1") then return end
  if #D ~= ACCOUNT_BYTES or #C ~= ACCOUNT_BYTES then return end
  local dp, dq, cp, cq, limit = struct_unpack(">I8I8I8I8B", D)
  local ep, eq, fp, fq, other = struct_unpack(">I8I8I8I8B", C)
  local debited = dp + dq + size
  if debited >= P53 or fp + fq + size >= P53 or cp + cq >= P53 or ep + eq >= P53 then return end
  if limit ~= 0 and debited > cq then return end
  if kind == PLAIN then dq, fq = dq + size, fq + size else dp, fp = dp + size, fp + size end
  local calls, transfers = struct_unpack(COUNTS, m)
  -- The end of the request is the record's beginning.
  call("HSET", key,
    id, sub(request, 17) .. struct_pack(">I6I2", calls + 1, 1),
    debit, struct_pack(">I8I8I8I8B", dp, dq, cp, cq, limit),
    credit, struct_pack(">I8I8I8I8B", ep, eq, fp, fq, other),
    "m", struct_pack(COUNTS, calls + 1, transfers + 1),
    mark_page(marked, page))
  return ""
end

-- The same for a post or void, of a hold that came alone too.
local function end_one(key, request)
  local _, id, kind, pending_id, size = struct_unpack(">Bc16Bc16I8", request)
  local page = sub(request, 2, 16)
  local r = call("HMGET", key, id, page, pending_id, "p" .. pending_id, "m")
  local marked, hold, m = r[2], r[3], r[5]
  if r[1] or (marked and marked ~= "\1") or not hold or r[4] or not m or id == pending_id then return end
  if #hold ~= 52 or byte(hold, 2) ~= PENDING then return end
  local _, _, debit, credit, held = struct_unpack(">BBc17c17I8", hold)
  if kind == VOID and size == 0 then size = held end
  if held >= P53 or size > held or (kind == VOID and size ~= held) then return end
  local accounts = call("HMGET", key, debit, credit)
  local dp, dq, cp, cq, limit = struct_unpack(">I8I8I8I8B", accounts[1])
  local ep, eq, fp, fq, other = struct_unpack(">I8I8I8I8B", accounts[2])
  if dp + dq + size >= P53 or fp + fq + size >= P53 or cp + cq >= P53 or ep + eq >= P53 then return end
  local posted = kind == POST and size or 0
  local calls, transfers = struct_unpack(COUNTS, m)
  call("HSET", key,
    id, sub(request, 17, 18) .. sub(hold, 3, 36) .. struct_pack(">I8I6I2", size, calls + 1, 1) .. pending_id,
    "p" .. pending_id, KIND[kind],
    debit, struct_pack(">I8I8I8I8B", dp - held, dq + posted, cp, cq, limit),
    credit, struct_pack(">I8I8I8I8B", ep, eq, fp - held, fq + posted, other),
    "m", struct_pack(COUNTS, calls + 1, transfers + 1),
    mark_page(marked, page))
  return ""
end

-- A single transfer as a batch of one.
local function as_batch(request, ends)
  local id, kind, amount = sub(request, 2, 17), sub(request, 18, 18), sub(request, -8)
  if ends then
    return struct_pack(">BI2I2I2", 1, 1, 0, 1) .. id .. sub(request, 19, 34) .. kind .. "\0\1\0\0" .. amount
  end
  local debit, credit = sub(request, 19, 35), sub(request, 36, 52)
  if debit == credit then
    return struct_pack(">BI2I2I2", 1, 1, 1, 0) .. id .. debit .. kind .. "\0\1\0\1" .. amount
  end
  return struct_pack(">BI2I2I2", 1, 1, 2, 0) .. id .. debit .. credit .. kind .. "\0\1\0\2" .. amount
end

local function create_one(key, request)
  local kind = byte(request, 18)
  if #request == 60 and kind <= PENDING then
    return move_one(key, request) or create_batch(key, as_batch(request, false))
  end
  if #request == 42 and kind >= POST and kind <= VOID then
    return end_one(key, request) or create_batch(key, as_batch(request, true))
  end
  return malformed("its length")
end

local function create_transfers(keys, args)
  if not call then bind() end
  local request = args[1]
  if #keys ~= 1 or #args ~= 1 or request == "" then return malformed("one key, one argument") end
  local tag = byte(request)
  if tag == 2 then return create_one(keys[1], request) end
  if tag == 1 then return create_batch(keys[1], request) end
  return malformed("its tag")
end

local function create_accounts(keys, args)
  if not call then bind() end
  local key, request = keys[1], args[1]
  local n = #request / 18
  if n < 1 or n > BATCH_MAX or n % 1 ~= 0 then return malformed("its length") end
  local names = {}
  for i = 1, n do
    names[i] = sub(request, i * 18 - 17, i * 18 - 1)
    if byte(names[i]) ~= 97 or byte(request, i * 18) > 1 then return malformed("an account") end
  end
  local stored, fresh, out, o, failures = {}, {}, {}, 0, {}
  read(key, names, n, stored)
  local calls, transfers = counts(call("HGET", key, "m"))
  for i = 1, n do
    local limit = sub(request, i * 18, i * 18)
    local value = stored[i] or fresh[names[i]]
    if value then
      local result = sub(value, 33) == limit and 21 or 15 -- exists, exists_with_different_flags
      failures[#failures + 1] = struct_pack(">I2I2", i - 1, result)
    else
      value = rep("\0", 32) .. limit
      fresh[names[i]] = value
      out[o + 1], out[o + 2] = names[i], value
      o = o + 2
    end
  end
  if o > 0 then
    out[o + 1], out[o + 2] = "m", struct_pack(COUNTS, calls, transfers) .. LONG
    write(key, out, o + 2)
  end
  return concat(failures)
end

local function look_up_accounts(keys, args)
  if not call then bind() end
  local n = #args[1] / 17
  if n < 1 or n > BATCH_MAX or n % 1 ~= 0 then return malformed("its length") end
  local values = {}
  read(keys[1], column("c17", 17, args[1], 1, n), n, values)
  for i = 1, n do values[i] = values[i] or false end
  return values
end

local function look_up_transfers(keys, args)
  if not call then bind() end
  local n = #args[1] / 16
  if n < 1 or n > BATCH_MAX or n % 1 ~= 0 then return malformed("its length") end
  local ids, pages, values = split_ids(args[1], 1, n), {}, {}
  ids.count = n
  read_pages(keys[1], pages, { ids })
  for i = 1, n do
    local record = pages[ids[2 * i - 1]][ids[2 * i]]
    values[i] = record and byte(record, 2) ~= FAILED and sub(record, 2) or false
  end
  return values
end

local function count_transfers(keys)
  if not call then bind() end
  local _, transfers = counts(call("HGET", keys[1], "m"))
  return transfers
end

local function register(name, callback, flags)
  redis.register_function { function_name = "ledger_bench_" .. name, callback = callback, flags = flags }
end
register("create_accounts", create_accounts, {})
register("create_transfers", create_transfers, {})
register("look_up_accounts", look_up_accounts, { "no-writes" })
register("look_up_transfers", look_up_transfers, { "no-writes" })
register("count_transfers", count_transfers, { "no-writes" })
