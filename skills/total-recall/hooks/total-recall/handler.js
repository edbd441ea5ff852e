// Total Recall's hook: starts the program in the background and hands the ready-made memory to the agent.
// It never waits for the program, never throws, and takes nothing from an event as a path or a command.

import { spawn } from "node:child_process";
import { constants, promises as fs } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

const COMMANDS = {
  "command:new": "recover",
  "command:reset": "recover",
  "session:auto-reset": "recover",
  "gateway:startup": "recover",
  "session:compact:before": "flush",
};
const HERE = path.dirname(fileURLToPath(import.meta.url));
const MEMORY_NAME = "TOTAL_RECALL.md";
const CONTEXT = path.join(".total-recall", "context.txt");
const LARGEST_BYTES = 64 * 1024;
const HOST_CHARACTERS = 20000; // the host's own default for one file
const HOST_TOTAL_CHARACTERS = 60000; // and for all of them together (150,000 before 2026.5)
const CLOSING = "</total-recall-memory>\n";
const DAY_HEADING = /^## .*\d{4}-\d{2}-\d{2}/;
const AGENT = /^[a-z0-9][a-z0-9_-]{0,63}$/i;
const MOST_SESSIONS = 500;
const HOST_WORDS = ["subagent", "cron", "hook", "acp", "boot", "temp", "heartbeat", "internal-session-effects"];
const MODEL_PROBE = "explicit:model-run-";
const CHAT_WORDS = { direct: true, dm: true, group: false, channel: false, room: false };

const given = new Map(); // session key → { id, day, file, text }: what a session was given stays the same
const jobs = new Map(); // command and agent → { again, keys }: what runs now, and for which sessions
let renewals = 0;
let told = false;

export default async function totalRecall(event) {
  try {
    if (event?.type === "agent" && event.action === "bootstrap") {
      await bootstrap(event.context);
      return;
    }
    const trigger = `${event?.type}:${event?.action}`;
    const command = Object.hasOwn(COMMANDS, trigger) ? COMMANDS[trigger] : undefined;
    if (command) await react(trigger, command, event);
  } catch (error) {
    complain(error);
  }
}

// --- background commands

async function react(trigger, command, event) {
  // At its start the Gateway puts the event's own name where a session key stands.
  const key = trigger !== "gateway:startup" && typeof event.sessionKey === "string" ? event.sessionKey : "";
  if (isOfTheHost(key)) return;
  const agent = agentOf(key);
  renew([key]);
  const settings = await located(event.context?.workspaceDir ?? event.context?.cfg?.agents?.defaults?.workspace);
  if (settings.script) start(settings.script, command, trigger, agent, new Set([key]));
}

function start(script, command, trigger, agent, keys) {
  const name = `${command} ${agent}`;
  const running = jobs.get(name);
  if (running) {
    // Compaction events fire on every attempt: one more run afterwards sees all of it.
    running.again = trigger;
    for (const key of keys) running.keys.add(key);
    return;
  }
  const job = { again: "", keys };
  const options = agent ? ["--agent", agent] : [];
  const child = spawn("python3", [script, command, "--trigger", trigger, ...options], {
    detached: true,
    stdio: "ignore",
  });
  jobs.set(name, job);
  const end = () => {
    if (jobs.get(name) !== job) return; // after an error there may be an exit as well
    jobs.delete(name);
    renew(job.keys); // what it wrote is for the sessions that set it off
    if (job.again) guarded(() => start(script, command, job.again, agent, job.keys));
  };
  child.on("error", (error) => {
    complain(error);
    end();
  });
  child.on("exit", end);
  child.unref();
}

// --- the memory at the start of a session

async function bootstrap(context) {
  const files = context?.bootstrapFiles;
  const key = context?.sessionKey;
  if (!Array.isArray(files) || typeof key !== "string" || !isPrivate(key, context.cfg)) return;
  const { memory } = await located(context.workspaceDir);
  if (!memory) return;
  const file = path.join(memory, CONTEXT);
  const others = files.filter((entry) => entry?.path !== file);
  const text = fitting(await remembered(key, context.sessionId, file), room(context.cfg, agentOf(key), others));
  const own = text ? [{ name: MEMORY_NAME, path: file, content: text, missing: false }] : [];
  if (own.length || others.length !== files.length) context.bootstrapFiles = [...others, ...own];
}

async function remembered(key, id, file) {
  const day = new Date().toDateString();
  const before = given.get(key);
  given.delete(key);
  if (before && before.id === id && before.day === day && before.file === file) {
    given.set(key, before); // the last in the map is the last used
    return before.text;
  }
  const asked = renewals;
  const text = await read(file);
  // Where there was nothing it is looked for again, and what changed while it was read is read again.
  if (text && asked === renewals) given.set(key, { id, day, file, text });
  if (given.size > MOST_SESSIONS) given.delete(given.keys().next().value);
  return text;
}

// An empty key stands for all sessions.
function renew(keys) {
  renewals += 1;
  for (const key of keys) {
    if (key) given.delete(key);
    else given.clear();
  }
}

async function read(file) {
  let handle;
  try {
    handle = await fs.open(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    const info = await handle.stat();
    if (!info.isFile() || info.size > LARGEST_BYTES) return "";
    const text = await handle.readFile("utf8");
    return text.endsWith(CLOSING) ? text : "";
  } catch (error) {
    if (error?.code !== "ENOENT" && error?.code !== "ENOTDIR") complain(error);
    return "";
  } finally {
    await handle?.close();
  }
}

// Characters that the host takes of our file without cutting its middle out.
function room(cfg, agent, others) {
  const agents = cfg?.agents ?? {};
  const listed = Array.isArray(agents.list) ? agents.list.find((each) => each?.id === agent) : undefined;
  const places = [agents.entries?.[agent], listed, agents.defaults];
  const set = (name, otherwise) =>
    places.map((place) => place?.[name]).find((value) => Number.isFinite(value) && value > 0) ?? otherwise;
  const most = set("bootstrapMaxChars", HOST_CHARACTERS);
  const taken = others.map((file) => (typeof file?.content === "string" ? Math.min(file.content.length, most) : 200));
  const left = set("bootstrapTotalMaxChars", HOST_TOTAL_CHARACTERS) - taken.reduce((sum, size) => sum + size, 0);
  return Math.min(most, left);
}

// Where that is too little the oldest days go, whole, so that no line comes to stand under the heading before; then
// lines at the end.
function fitting(text, most) {
  if (text.length <= most) return text;
  const lines = text.slice(0, -CLOSING.length - 1).split("\n");
  const days = lines.flatMap((line, at) => (DAY_HEADING.test(line) ? [at] : []));
  const size = (some) => some.join("\n").length + 1 + CLOSING.length;
  const head = lines.slice(0, days[0] ?? lines.length);
  for (const at of days.slice(1)) {
    const kept = [...head, ...lines.slice(at)];
    if (size(kept) <= most) return `${kept.join("\n")}\n${CLOSING}`;
  }
  while (head.length && (size(head) > most || /^(?:## .*)?$/.test(head.at(-1)))) head.pop();
  return head.some((line) => line.startsWith("## ")) ? `${head.join("\n")}\n${CLOSING}` : "";
}

// --- which sessions, where the program is

function words(key) {
  const parts = key.trim().toLowerCase().split(":");
  return parts[0] === "agent" && parts.length > 2 ? parts.slice(2) : parts;
}

function chatWord(parts) {
  return parts.slice(0, Math.min(3, parts.length - 1)).find((part) => Object.hasOwn(CHAT_WORDS, part));
}

function isPrivate(key, cfg) {
  if (key.length > 1000 || isOfTheHost(key)) return false;
  const parts = words(key);
  const rest = parts.join(":");
  const set = cfg?.session?.mainKey;
  // `global` is everybody's session, groups among them.
  const mains = ["main", ...(typeof set === "string" && set.trim() ? [set.trim().toLowerCase()] : [])];
  if (mains.some((main) => rest === main || rest.startsWith(`${main}:thread:`) || rest.startsWith(`${main}:topic:`)))
    return true;
  if (parts[0] === "explicit" || parts[0] === "dashboard") return parts.length > 1;
  const chat = chatWord(parts);
  return chat !== undefined && CHAT_WORDS[chat];
}

// What the host and its agents say to each other; everything else may be a conversation.
function isOfTheHost(key) {
  const parts = words(key);
  return HOST_WORDS.includes(parts[0]) || parts.at(-1) === "heartbeat" || parts.join(":").startsWith(MODEL_PROBE);
}

function agentOf(key) {
  const [head, id] = key.split(":");
  return head === "agent" && AGENT.test(id ?? "") ? id : "";
}

async function located(workspace) {
  const named = typeof workspace === "string" && path.isAbsolute(workspace) ? path.resolve(workspace) : "";
  let settings = {};
  try {
    settings = JSON.parse(await fs.readFile(path.join(HERE, "total-recall.json"), "utf8")) ?? {};
  } catch (error) {
    if (error?.code !== "ENOENT") complain(error);
  }
  const own = typeof settings.scripts === "string" && path.isAbsolute(settings.scripts) ? settings.scripts : "";
  const scripts = own || (named && path.join(named, "skills", "total-recall", "scripts"));
  const script = scripts && path.join(scripts, "bootstrap.py");
  const memory = named && settings.memory?.[named];
  return {
    script: script && (await exists(script)) ? script : "",
    memory: typeof memory === "string" && path.isAbsolute(memory) ? memory : named && path.join(named, "memory"),
  };
}

async function exists(file) {
  try {
    return (await fs.stat(file)).isFile();
  } catch {
    return false; // then there is nothing to start, and doctor says so
  }
}

function guarded(act) {
  try {
    act();
  } catch (error) {
    complain(error);
  }
}

function complain(error) {
  if (told) return;
  told = true;
  const what = error instanceof Error ? error.message : typeof error;
  console.error(`total-recall hook: ${what.split("\n")[0]}; run "total-recall doctor"`);
}
