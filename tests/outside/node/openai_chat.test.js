// Chat Completions through the official `openai` package: plain, streamed, `.stream()` and `.runTools()`.
"use strict";

const assert = require("node:assert/strict");
const OpenAI = require("openai");
const { chatPairs } = require("./support/bodies.js");
const { FAILING, HIDDEN, MIXED, MODEL, REFUSED, SCHEMA, assertWhole, clean, forecast, fresh, suite } =
  require("./support/harness.js");

const TOOL = { type: "function", function: { name: "get_weather", description: "Weather", parameters: SCHEMA } };
const WITH_USAGE = { stream_options: { include_usage: true } };

function client({ gateway }, headers = {}) {
  const defaultHeaders = { "x-omni-use": "eval_code", ...headers };
  return new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: gateway.key, maxRetries: 0, defaultHeaders });
}

/** One answer: message, finish reason, usage, and all that the application saw. */
const WAYS = {
  async plain(api, request) {
    const seen = await api.chat.completions.create(request);
    return { ...seen.choices[0], usage: seen.usage, seen };
  },
  async stream(api, request) {
    const chunks = [];
    const message = { content: "", tool_calls: [] };
    let end;
    for await (const chunk of await api.chat.completions.create({ ...request, ...WITH_USAGE, stream: true })) {
      chunks.push(chunk);
      for (const { delta, finish_reason } of chunk.choices) {
        message.content += delta.content ?? "";
        for (const part of delta.tool_calls ?? []) {
          const known = (message.tool_calls[part.index] ??= { ...part, function: { ...part.function, arguments: "" } });
          known.function.arguments += part.function?.arguments ?? "";
        }
        end = finish_reason ?? end;
      }
    }
    assert.equal(new Set(chunks.map((chunk) => chunk.id)).size, 1);
    return { message, finish_reason: end, usage: chunks.findLast((chunk) => chunk.usage).usage, seen: chunks };
  },
  async helper(api, request) {
    const stream = api.chat.completions.stream({ ...request, ...WITH_USAGE });
    const chunks = [];
    for await (const chunk of stream) chunks.push(chunk);
    const final = await stream.finalChatCompletion();
    return { ...final.choices[0], usage: await stream.totalUsage(), seen: [chunks, final] };
  },
};

suite("openai chat", (test) => {
  for (const [way, ask] of Object.entries(WAYS)) {
    test(`${way}: our skills run hidden`, async (world) => {
      await world.fake.script(...HIDDEN);
      const session = fresh("session").replace(/\W+/g, "-");
      const messages = [{ role: "user", content: fresh() }];
      const answer = await ask(client(world, { "x-omni-session": session }), { model: MODEL, messages });
      assert.equal(answer.message.content.replace(/\s+/g, " "), "Let me see. It is 42.");
      assert.equal(answer.message.tool_calls?.length ?? 0, 0);
      assert.equal(answer.finish_reason, "stop");
      const { prompt_tokens, completion_tokens, total_tokens } = answer.usage;
      assert.deepEqual([prompt_tokens, completion_tokens, total_tokens], [250, 30, 280]);
      clean(answer.seen);
      const rows = await world.gateway.executions(session);
      assert.deepEqual(rows.map((row) => [row.skillName, row.status]), Array(2).fill(["eval_code", "success"]));
    });

    test(`${way}: a mixed turn is the client's alone, and the upstream gets the whole`, async (world) => {
      await world.fake.script(...MIXED);
      const api = client(world);
      const messages = [{ role: "user", content: fresh() }];
      const first = await ask(api, { model: MODEL, messages, tools: [TOOL] });
      assert.equal(first.finish_reason, "tool_calls");
      assert.deepEqual(first.message.tool_calls.map((call) => call.function.name), ["get_weather", "get_weather"]);
      clean(first.seen);
      const { call } = forecast();
      const made = first.message.tool_calls.map(({ id, type, function: f }) => ({ id, type, function: f }));
      messages.push({ role: "assistant", content: first.message.content || null, tool_calls: made });
      for (const { id, function: f } of made) {
        messages.push({ role: "tool", tool_call_id: id, content: call(JSON.parse(f.arguments)) });
      }
      const second = await ask(api, { model: MODEL, messages, tools: [TOOL] });
      assert.equal(second.message.content, "Warm in both.");
      clean(second.seen);
      const bodies = await world.fake.bodies();
      assert.equal(bodies.length, 2);
      assertWhole(chatPairs(bodies[1]));
    });

    test(`${way}: a refused request is the SDK's own error`, async (world) => {
      const request = { model: MODEL, messages: [{ role: "user", content: "x" }] };
      await assert.rejects(ask(client(world, REFUSED), request), (error) => {
        assert.ok(error instanceof OpenAI.BadRequestError, String(error));
        assert.equal(error.status, 400);
        assert.match(error.message, /x-omni-skills/);
        assert.equal(error.type, "invalid_request_error");
        return true;
      });
    });

    test(`${way}: a failure after a skill ran is the SDK's own error`, async (world) => {
      await world.fake.script(...FAILING[way === "plain" ? "plain" : "streamed"]);
      const messages = [{ role: "user", content: fresh() }];
      await assert.rejects(ask(client(world), { model: MODEL, messages }), (error) => {
        assert.ok(error instanceof OpenAI.APIError, String(error));
        assert.match(error.message, way === "plain" ? /scripted/ : /upstream's stream broke off/);
        clean(error.message, error.error ?? null);
        return true;
      });
    });
  }

  for (const stream of [false, true]) {
    test(`runTools, stream: ${stream}: the client's functions run here, ours there`, async (world) => {
      await world.fake.script(...MIXED);
      const { asked, call } = forecast();
      const runner = client(world).chat.completions.runTools({
        model: MODEL,
        stream,
        messages: [{ role: "user", content: fresh() }],
        tools: [{ type: "function", function: { ...TOOL.function, parse: JSON.parse, function: call } }],
      });
      assert.equal(await runner.finalContent(), "Warm in both.");
      assert.deepEqual(asked, ["Łódź", "Qom"]);
      clean(runner.messages, runner.allChatCompletions());
      assertWhole(chatPairs((await world.fake.bodies())[1]));
    });
  }
});
