// Messages through the official `@anthropic-ai/sdk`: plain, streamed, `messages.stream` and the tool runner.
"use strict";

const assert = require("node:assert/strict");
const Anthropic = require("@anthropic-ai/sdk");
const { messagePairs } = require("./support/bodies.js");
const {
  FAILING, HIDDEN, MIXED, MODEL, OURS_FIRST, REFUSED, SCHEMA, assertWhole, clean, forecast, fresh, suite, words,
} = require("./support/harness.js");

const TOOL = { name: "get_weather", description: "Weather", input_schema: SCHEMA };

function client({ gateway }, headers = {}) {
  const defaultHeaders = { "x-omni-use": "eval_code", ...headers };
  return new Anthropic({ baseURL: gateway.url, apiKey: gateway.key, maxRetries: 0, defaultHeaders });
}

/** Which member of a block a delta goes on with, and where it has the piece. */
const PIECES = {
  text_delta: ["text", "text"],
  input_json_delta: ["json", "partial_json"],
  thinking_delta: ["thinking", "thinking"],
  signature_delta: ["signature", "signature"],
};

/** The final message, and all that the application saw. */
const WAYS = {
  async plain(api, request) {
    const message = await api.messages.create(request);
    return { message, seen: message };
  },
  async stream(api, request) {
    const events = [];
    const content = [];
    for await (const event of await api.messages.create({ ...request, stream: true })) {
      events.push(event);
      if (event.type === "content_block_start") {
        assert.equal(event.index, content.length);
        content.push({ ...event.content_block, json: "" });
      } else if (event.type === "content_block_delta") {
        const [member, kind] = PIECES[event.delta.type];
        content.at(-1)[member] += event.delta[kind];
      }
    }
    const end = events.find((event) => event.type === "message_delta");
    for (const block of content) {
      if (block.type === "tool_use") block.input = JSON.parse(block.json);
      delete block.json;
    }
    return { message: { content, stop_reason: end.delta.stop_reason, usage: end.usage }, seen: events };
  },
  async helper(api, request) {
    const stream = api.messages.stream(request);
    const events = [];
    for await (const event of stream) events.push(event);
    const message = await stream.finalMessage();
    return { message, seen: [events, message] };
  },
};

suite("anthropic messages", (test) => {
  for (const [way, ask] of Object.entries(WAYS)) {
    test(`${way}: our skills run hidden`, async (world) => {
      await world.fake.script(...HIDDEN);
      const messages = [{ role: "user", content: fresh() }];
      const { message, seen } = await ask(client(world), { model: MODEL, max_tokens: 500, messages });
      assert.equal(words(message.content).replace(/\s+/g, " "), "Let me see. It is 42.");
      assert.ok(message.content.every((block) => block.type === "text"));
      assert.equal(message.stop_reason, "end_turn");
      assert.deepEqual([message.usage.input_tokens, message.usage.output_tokens], [250, 30]);
      clean(seen);
      assert.equal((await world.fake.requests()).length, 2);
    });

    test(`${way}: a mixed turn is the client's alone, and the upstream gets the whole`, async (world) => {
      await world.fake.script({ ...MIXED[0], thinking: [{ signed: { text: "Both.", signature: "c2ln" } }] }, MIXED[1]);
      const api = client(world);
      const messages = [{ role: "user", content: fresh() }];
      const thinking = { type: "enabled", budget_tokens: 1024 };
      const base = { model: MODEL, max_tokens: 2000, tools: [TOOL], thinking };
      const first = await ask(api, { ...base, messages });
      const made = first.message.content.filter((block) => block.type === "tool_use");
      assert.equal(first.message.stop_reason, "tool_use");
      assert.deepEqual(made.map((block) => block.name), ["get_weather", "get_weather"]);
      clean(first.seen);
      const { call } = forecast();
      const results = made.map(({ id, input }) => ({ type: "tool_result", tool_use_id: id, content: call(input) }));
      messages.push({ role: "assistant", content: first.message.content }, { role: "user", content: results });
      const second = await ask(api, { ...base, messages });
      assert.equal(words(second.message.content), "Warm in both.");
      clean(second.seen);
      const body = (await world.fake.bodies())[1];
      assertWhole(messagePairs(body));
      assert.deepEqual(body.messages[1].content[0], { type: "thinking", thinking: "Both.", signature: "c2ln" });
    });

    test(`${way}: a refused request is the SDK's own error`, async (world) => {
      const request = { model: MODEL, max_tokens: 5, messages: [{ role: "user", content: "x" }] };
      await assert.rejects(ask(client(world, REFUSED), request), (error) => {
        assert.ok(error instanceof Anthropic.BadRequestError, String(error));
        assert.equal(error.status, 400);
        assert.match(error.message, /x-omni-skills/);
        assert.equal(error.error.error.type, "invalid_request_error");
        return true;
      });
    });

    test(`${way}: a failure after a skill ran is the SDK's own error`, async (world) => {
      await world.fake.script(...FAILING[way === "plain" ? "plain" : "streamed"]);
      const messages = [{ role: "user", content: fresh() }];
      await assert.rejects(ask(client(world), { model: MODEL, max_tokens: 5, messages }), (error) => {
        assert.ok(error instanceof Anthropic.APIError, String(error));
        assert.match(error.message, way === "plain" ? /scripted/ : /upstream's stream broke off/);
        clean(error.message, error.error ?? null);
        return true;
      });
    });
  }

  for (const thread of [undefined, false]) {
    for (const stream of [false, true]) {
      const how = `thread: ${thread ?? "its own"}, stream: ${stream}`;
      test(`tool runner, ${how}: the client's functions run here, ours there`, async (world) => {
        await world.fake.script(...MIXED);
        const { asked, call } = forecast();
        const runner = client(world).beta.messages.toolRunner({
          model: MODEL,
          max_tokens: 500,
          stream,
          messages: [{ role: "user", content: fresh() }],
          tools: [{ ...TOOL, type: "custom", run: call, parse: (input) => input }],
          ...(thread === undefined ? {} : { thread }),
        });
        const seen = [];
        for await (const turn of runner) seen.push(stream ? await turn.finalMessage() : turn);
        assert.deepEqual(seen.map((message) => words(message.content)), ["", "Warm in both."]);
        assert.deepEqual(asked, ["Łódź", "Qom"]);
        clean(seen);
        const last = (await world.fake.bodies()).at(-1);
        if (last.thread) {
          const theirs = seen[0].content.map((block) => block.id);
          const name = (id) => (theirs.includes(id) ? "get_weather" : "eval_code");
          const results = last.messages[0].content.filter((block) => block.type === "tool_result");
          assertWhole(results.map((block) => [name(block.tool_use_id), words(block.content)]), OURS_FIRST);
        } else {
          assertWhole(messagePairs(last));
        }
      });
    }
  }
});
