-- Asks for some paths in turn, and ends between two requests: `wrk -tN -cN -d300s -s exact-load.lua URL -- SECONDS PATH…`, one
-- connection a thread. A thread that is done prints "stopped". wrk itself goes on until SIGINT: its last line tells how many of each
-- path were answered with a 200.
local threads = {}

function setup(thread)
  table.insert(threads, thread)
end

function init(arguments)
  deadline = os.time() + tonumber(arguments[1])
  paths, counts, others, turn = {}, {}, 0, 0
  for index = 2, #arguments do
    paths[index - 1] = arguments[index]
    counts[index - 1] = 0
  end
end

function request()
  turn = turn % #paths + 1
  return wrk.format("GET", paths[turn])
end

function response(status)
  if status == 200 then counts[turn] = counts[turn] + 1 else others = others + 1 end
  if os.time() >= deadline then
    wrk.thread:stop()
    io.write("stopped\n")
    io.flush()
  end
end

function done()
  local total, failed = {}, 0
  for _, thread in ipairs(threads) do
    local paths, counts = thread:get("paths"), thread:get("counts")
    failed = failed + thread:get("others")
    for index, path in ipairs(paths) do
      total[path] = (total[path] or 0) + counts[index]
    end
  end
  local fields = { string.format('"others":%d', failed) }
  for path, count in pairs(total) do
    table.insert(fields, string.format('"%s":%d', path, count))
  end
  print("{" .. table.concat(fields, ",") .. "}")
end
