package redis

import "github.com/redis/go-redis/v9"

// Each script is atomic. KEYS are those of one lock; times are milliseconds for PX and PEXPIRE, which Redis counts on its
// own clock from when it runs the script.
type scripts struct{ claim, renew, verify, release, look, raise, stick, note *redis.Script }

func newScripts() scripts {
	return scripts{
		// ARGV: record, ttl. A record is ours when it is the same text. Gives {1, token, last} for a new claim,
		// {2, token, ""} for one that was ours, {0, token, record} for another's. What is not a string is another's too.
		claim: redis.NewScript(`
local kind = redis.call('TYPE', KEYS[1]).ok
if kind ~= 'none' then
  local text = kind == 'string' and redis.call('GET', KEYS[1]) or kind
  if text == ARGV[1] then
    redis.call('PEXPIRE', KEYS[1], ARGV[2])
    return {2, redis.call('GET', KEYS[3]), ''}
  end
  return {0, redis.call('GET', KEYS[3]) or '0', text}
end
local last = redis.call('GET', KEYS[2]) or ''
local token = redis.call('INCR', KEYS[3])
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
redis.call('SET', KEYS[2], ARGV[1])
return {1, tostring(token), last}`),
		// ARGV: record, ttl. It never makes a claim anew.
		renew: redis.NewScript(`
if redis.call('TYPE', KEYS[1]).ok == 'string' and redis.call('GET', KEYS[1]) == ARGV[1] then
  return redis.call('PEXPIRE', KEYS[1], ARGV[2])
end
return 0`),
		// Gives the claim, what was left, the token, and how long the claim lives in milliseconds. No key is ''; an empty
		// one, which is somebody else's, a space.
		look: redis.NewScript(`
local function text(key)
  local kind = redis.call('TYPE', key).ok
  if kind == 'none' then return '' end
  local there = kind == 'string' and redis.call('GET', key) or kind
  return there == '' and ' ' or there
end
return {text(KEYS[1]), text(KEYS[2]), redis.call('GET', KEYS[3]) or '0', redis.call('PTTL', KEYS[1])}`),
		// ARGV: a number, as text: those of Lua are not exact. It only rises, and only while there is no claim.
		raise: redis.NewScript(`
if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end
local there, above = redis.call('GET', KEYS[3]) or '0', ARGV[1]
if #there < #above or #there == #above and there < above then redis.call('SET', KEYS[3], above) end
return 1`),
		// ARGV: record. Gives {1, token, last} for a claim without a time, {0, token, record} for one that is there.
		stick: redis.NewScript(`
local kind = redis.call('TYPE', KEYS[1]).ok
if kind ~= 'none' then
  return {0, redis.call('GET', KEYS[3]) or '0', kind == 'string' and redis.call('GET', KEYS[1]) or kind}
end
local last = redis.call('GET', KEYS[2]) or ''
local token = redis.call('INCR', KEYS[3])
redis.call('SET', KEYS[1], ARGV[1])
redis.call('SET', KEYS[2], ARGV[1])
return {1, tostring(token), last}`),
		// ARGV: token, the record beside the claim, the new one. Only a claim that has no time has one.
		note: redis.NewScript(`
if redis.call('TYPE', KEYS[1]).ok ~= 'string' or redis.call('PTTL', KEYS[1]) ~= -1 then return 0 end
if redis.call('GET', KEYS[3]) ~= ARGV[1] or redis.call('GET', KEYS[2]) ~= ARGV[2] then return 0 end
redis.call('SET', KEYS[2], ARGV[3])
return 1`),
		// ARGV: record, token.
		verify: redis.NewScript(`
if redis.call('TYPE', KEYS[1]).ok == 'string' and redis.call('GET', KEYS[1]) == ARGV[1] and redis.call('GET', KEYS[3]) == ARGV[2] then
  return 1
end
return 0`),
		// ARGV: record, token or '0', the record of a clean release or '', channel.
		release: redis.NewScript(`
if redis.call('TYPE', KEYS[1]).ok ~= 'string' or redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
if ARGV[2] ~= '0' and redis.call('GET', KEYS[3]) ~= ARGV[2] then return 0 end
redis.call('DEL', KEYS[1])
if ARGV[3] ~= '' then redis.call('SET', KEYS[2], ARGV[3]) end
redis.call('PUBLISH', ARGV[4], '')
return 1`),
	}
}
