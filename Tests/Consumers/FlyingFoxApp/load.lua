-- Each thread has one connection and stops after so many responses, so that what wrk counts is what the server answered.
--
--     wrk -t 8 -c 8 -d 300s -s load.lua URL -- RESPONSES FOLDER
--
-- A thread that is done makes FOLDER/done-N. wrk itself goes on until its duration is over, or until SIGINT, and writes what
-- was counted to FOLDER/counted: "STATUS PATH COUNT" a line, from each thread.
local paths = { "/hello", "/orders/7", "/hello", "/nowhere" }
local threads = {}

function setup(thread)
  table.insert(threads, thread)
  thread:set("number", #threads)
end

function init(arguments)
  limit, folder = tonumber(arguments[1]), arguments[2]
  counted, text, sent, received = {}, "", 0, 0
end

function request()
  sent = sent + 1
  return wrk.format("GET", paths[sent % #paths + 1])
end

function response(status)
  received = received + 1
  -- There is one connection, so this answers the last request.
  local key = status .. " " .. paths[sent % #paths + 1]
  counted[key] = (counted[key] or 0) + 1
  if received == limit then
    for name, count in pairs(counted) do text = text .. name .. " " .. count .. "\n" end
    wrk.thread:stop()
    io.open(folder .. "/done-" .. number, "w"):close()
  end
end

function done(summary)
  local file = io.open(threads[1]:get("folder") .. "/counted", "w")
  for _, thread in ipairs(threads) do file:write(thread:get("text")) end
  file:close()
  local errors = summary.errors
  print("wrk: " .. summary.requests .. " requests, "
    .. errors.connect + errors.read + errors.write + errors.timeout .. " errors")
end
