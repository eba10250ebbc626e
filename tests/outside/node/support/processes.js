// The two programs under test as child processes on loopback: the fake upstream and the gateway.
// Each is ended by its own handle. Nothing here knows what a test wants to see.
"use strict";

const { spawn } = require("node:child_process");
const fs = require("node:fs");
const os = require("node:os");
const path = require("node:path");
const { setTimeout: sleep } = require("node:timers/promises");

const ROOT = path.resolve(__dirname, "../../../..");
const TARGET = path.join(process.env.CARGO_TARGET_DIR ?? path.join(ROOT, "target"), "debug");
const FAKE_BIN = process.env.FAKE_UPSTREAM_BIN ?? path.join(TARGET, "fake-upstream");
const GATEWAY_BIN = process.env.OMNI_SKILLS_BIN ?? path.join(TARGET, "omni-skills");

const UPSTREAM_KEY = "sk-upstream-only";
const START_MS = 30_000;

const running = new Set();
process.on("exit", () => running.forEach((child) => child.kill("SIGKILL")));

/** A child whose output is kept for as long as it lives. */
class Process {
  constructor(command, args, env = {}) {
    const clean = Object.entries(process.env).filter(([name]) => !name.toLowerCase().endsWith("_proxy"));
    this.output = "";
    this.child = spawn(command, args, { env: { ...Object.fromEntries(clean), ...env } });
    this.ended = new Promise((resolve) => this.child.once("close", resolve));
    running.add(this.child);
    this.child.once("close", () => running.delete(this.child));
    this.child.once("error", (error) => (this.output += `${command}: ${error.message}`));
    for (const pipe of [this.child.stdout, this.child.stderr]) {
      pipe.setEncoding("utf8").on("data", (words) => (this.output += words));
    }
  }

  /** The first group of the first match in the output. */
  async waitFor(pattern) {
    const deadline = Date.now() + START_MS;
    while (Date.now() < deadline) {
      const match = pattern.exec(this.output);
      if (match) return match[1];
      if (this.child.exitCode !== null) break;
      await sleep(20);
    }
    throw new Error(`no ${pattern} in the output:\n${this.output}`);
  }

  async stop() {
    this.child.kill("SIGTERM");
    await Promise.race([this.ended, sleep(15_000, undefined, { ref: false })]);
    this.child.kill("SIGKILL");
    await this.ended;
  }
}

/** The strict fake upstream. */
class Fake extends Process {
  static async start() {
    const fake = new Fake(FAKE_BIN, []);
    fake.url = await fake.waitFor(/listening on (http:\S+)\s/);
    return fake;
  }

  /** Replaces the script and forgets the requests. */
  async script(...rounds) {
    const body = JSON.stringify({ rounds, require_key: UPSTREAM_KEY });
    const headers = { "content-type": "application/json" };
    const answer = await fetch(`${this.url}/__script`, { method: "POST", headers, body });
    if (!answer.ok) throw new Error(await answer.text());
  }

  async requests() {
    return (await fetch(`${this.url}/__requests`)).json();
  }

  async bodies() {
    return (await this.requests()).map((request) => request.body);
  }
}

/** The gateway with a data folder of its own and one key. */
class Gateway extends Process {
  static async start(upstream) {
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), "outside-node-"));
    const config = path.join(folder, "test-config.toml");
    fs.writeFileSync(config, upstreams(upstream));
    const args = ["serve", "--config", config, "--data-dir", folder, "--port", "0"];
    const gateway = new Gateway(GATEWAY_BIN, args, { FAKE_UPSTREAM_KEY: UPSTREAM_KEY, RUST_LOG: "info" });
    gateway.folder = folder;
    gateway.url = await gateway.waitFor(/listens? on (http:\/\/127\.0\.0\.1:\d+)/);
    gateway.token = await gateway.waitFor(/management token: (omt_\S+)\s/);
    gateway.key = (await gateway.manage("POST", "/api/keys", { name: "outside" })).key;
    return gateway;
  }

  async manage(method, target, body) {
    const headers = { authorization: `Bearer ${this.token}`, "content-type": "application/json" };
    const answer = await fetch(this.url + target, { method, headers, body: body && JSON.stringify(body) });
    if (!answer.ok) throw new Error(await answer.text());
    return answer.json();
  }

  /** Rows of one conversation's history, oldest first. */
  async executions(session) {
    return (await this.manage("GET", `/api/skills/executions?session=${session}`)).data.reverse();
  }

  async stop() {
    await super.stop();
    fs.rmSync(this.folder, { recursive: true, force: true });
  }
}

function upstreams(url) {
  return `
[[upstreams]]
name = "fake"
dialect = ["openai_chat", "openai_responses", "anthropic_messages"]
base_url = "${url}"
api_key_env = "FAKE_UPSTREAM_KEY"
models = ["fake-*"]
`;
}

module.exports = { Fake, Gateway };
