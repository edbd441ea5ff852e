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
const CLOSING = "</total-recall-memory>\n";
const DAY_HEADING = /^## .*\d{4}-\d{2}-\d{2}/;
const AGENT = /^[a-z0-9][a-z0-9_-]{0,63}$/i;
const MOST_SESSIONS = 500;
const CHAT_WORDS = { direct: true, dm: true, group: false, channel: false, room: false };

const given = new Map(); // session key → { id, day, text }: what a session was given stays the same
const jobs = new Map(); // command and agent → { again, keys }
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
  const key = typeof event.sessionKey === "string" ? event.sessionKey : "";
  const agent = agentOf(key);
  if (trigger !== "gateway:startup" && key && !isPrivate(key, event.context?.cfg) && !isGroup(key)) return;
  given.delete(key);
  const settings = await located(event.context?.workspaceDir ?? event.context?.cfg?.agents?.defaults?.workspace);
  if (settings.script) start(settings.script, command, trigger, agent, key);
}

function start(script, command, trigger, agent, key) {
  const name = `${command} ${agent}`;
  const running = jobs.get(name);
  if (running) {
    // Compaction events fire on every attempt: one more run afterwards sees all of it.
    running.again = trigger;
    running.keys.add(key);
    return;
  }
  const job = { again: "", keys: new Set([key]) };
  jobs.set(name, job);
  const options = agent ? ["--agent", agent] : [];
  const child = spawn("python3", [script, command, "--trigger", trigger, ...options], {
    detached: true,
    stdio: "ignore",
  });
  let ended = false;
  const end = () => {
    if (ended) return;
    ended = true;
    jobs.delete(name);
    // What it wrote is for the sessions that set it off; a start of the Gateway is for all.
    for (const each of job.keys) each ? given.delete(each) : given.clear();
    if (job.again) start(script, command, job.again, agent, key);
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
  if (typeof context.workspaceDir !== "string" || !context.workspaceDir) return;
  const { memory } = await located(context.workspaceDir);
  const file = path.join(memory, CONTEXT);
  const others = files.filter((entry) => entry?.path !== file);
  const text = fitting(await remembered(key, context.sessionId, file), context.cfg);
  const own = text ? [{ name: MEMORY_NAME, path: file, content: text, missing: false }] : [];
  if (own.length || others.length !== files.length) context.bootstrapFiles = [...others, ...own];
}

async function remembered(key, id, file) {
  const day = new Date().toDateString();
  const before = given.get(key);
  if (before && before.id === id && before.day === day) return before.text;
  const text = await read(file);
  given.delete(key);
  given.set(key, { id, day, text });
  if (given.size > MOST_SESSIONS) given.delete(given.keys().next().value);
  return text;
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

// A host that is set to shorter files would cut the middle out: here the oldest days go, in whole lines.
function fitting(text, cfg) {
  const set = cfg?.agents?.defaults?.bootstrapMaxChars;
  const limit = Number.isFinite(set) && set > 0 ? set : HOST_CHARACTERS;
  if (text.length <= limit) return text;
  const lines = text.slice(0, -CLOSING.length).split("\n");
  const first = lines.findIndex((line) => DAY_HEADING.test(line));
  const head = first < 0 ? [] : lines.slice(0, first);
  const days = first < 0 ? [] : lines.slice(first);
  let size = head.join("\n").length + 1 + CLOSING.length + days.join("\n").length;
  while (days.length && size > limit) size -= days.shift().length + 1;
  return size > limit || !days.length ? "" : `${head.join("\n")}\n${days.join("\n")}${CLOSING}`;
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
  if (typeof key !== "string" || key.length > 1000) return false;
  const parts = words(key);
  const rest = parts.join(":");
  const set = cfg?.session?.mainKey;
  const mains = ["main", "global", ...(typeof set === "string" && set.trim() ? [set.trim().toLowerCase()] : [])];
  if (mains.some((main) => rest === main || rest.startsWith(`${main}:thread:`) || rest.startsWith(`${main}:topic:`)))
    return true;
  if (parts[0] === "explicit") return parts.length > 1 && !rest.startsWith("explicit:model-run-");
  if (parts[0] === "dashboard") return parts.length > 1;
  if (["subagent", "cron", "hook", "acp", "boot", "temp", "heartbeat"].includes(parts[0])) return false;
  if (parts[0] === "internal-session-effects" || parts.at(-1) === "heartbeat") return false;
  const chat = chatWord(parts);
  return chat !== undefined && CHAT_WORDS[chat];
}

function isGroup(key) {
  const chat = chatWord(words(key));
  return chat !== undefined && !CHAT_WORDS[chat];
}

function agentOf(key) {
  const [head, id] = key.split(":");
  return head === "agent" && AGENT.test(id ?? "") ? id : "";
}

async function located(workspace) {
  const named = typeof workspace === "string" && path.isAbsolute(workspace) ? workspace : "";
  let settings = {};
  try {
    settings = JSON.parse(await fs.readFile(path.join(HERE, "total-recall.json"), "utf8")) ?? {};
  } catch (error) {
    if (error?.code !== "ENOENT") complain(error);
  }
  const own = typeof settings.scripts === "string" && path.isAbsolute(settings.scripts) ? settings.scripts : "";
  const scripts = own || (named && path.join(named, "skills", "total-recall", "scripts"));
  const script = scripts && path.join(scripts, "bootstrap.py");
  const memory = settings.memory?.[named];
  return {
    script: script && (await exists(script)) ? script : "",
    memory: typeof memory === "string" && path.isAbsolute(memory) ? memory : path.join(named || HERE, "memory"),
  };
}

async function exists(file) {
  try {
    return (await fs.stat(file)).isFile();
  } catch {
    return false; // then there is nothing to start, and doctor says so
  }
}

function complain(error) {
  if (told) return;
  told = true;
  console.error(`total-recall hook: ${error?.message ?? error}; run "total-recall doctor"`);
}
