import { createServer } from 'node:http';
import { json } from 'node:stream/consumers';
import { close, listen } from '../../bin/local/http.ts';

/** What a model would do that is asked for the time in Tokyo: look for an operation, execute it, say what came of it. */
const script = [
  { name: 'search_intents', arguments: { query: 'what time is it in tokyo' } },
  { name: 'execute_intent', arguments: { intent_uid: 'world.example:get-current-time:v1', parameters: { time_zone: 'Asia/Tokyo' } } },
];

interface Turn {
  /** of Chat Completions */
  messages?: { role: string; content: unknown }[];
  /** of Responses */
  input?: { type?: string; output?: unknown }[] | string;
}

/** A scripted model behind the two APIs of OpenAI that frameworks use, on loopback. Its last answer is the last result of a tool. */
export async function startModel() {
  const server = createServer(async (request, response) => {
    const turn = (await json(request)) as Turn;
    const answer = request.url?.endsWith('/responses') ? answerResponses(turn) : answerChat(turn);
    response.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify(answer));
  });
  return { url: `http://127.0.0.1:${await listen(server)}/v1`, stop: () => close(server) };
}

const write = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));

/** The next call, or the text that ends it. */
function proceed(results: unknown[]) {
  const next = script[results.length];
  return next
    ? { call: { id: `call_${results.length}`, name: next.name, arguments: JSON.stringify(next.arguments) } }
    : { text: write(results.at(-1)) };
}

function answerChat({ messages = [] }: Turn): object {
  const { call, text } = proceed(messages.filter(({ role }) => role === 'tool').map(({ content }) => content));
  const message = call
    ? {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: call.id, type: 'function', function: { name: call.name, arguments: call.arguments } }],
      }
    : { role: 'assistant', content: text };
  return {
    id: 'chat',
    object: 'chat.completion',
    created: 1,
    model: 'scripted',
    choices: [{ index: 0, message, finish_reason: call ? 'tool_calls' : 'stop', logprobs: null }],
    usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
  };
}

function answerResponses({ input = [] }: Turn): object {
  const items = typeof input === 'string' ? [] : input;
  const { call, text } = proceed(items.filter(({ type }) => type === 'function_call_output').map(({ output }) => output));
  const item = call
    ? { type: 'function_call', id: `fc_${call.id}`, call_id: call.id, name: call.name, arguments: call.arguments, status: 'completed' }
    : {
        type: 'message',
        id: 'msg',
        role: 'assistant',
        status: 'completed',
        content: [{ type: 'output_text', text, annotations: [], logprobs: [] }],
      };
  return {
    id: 'resp',
    object: 'response',
    created_at: 1,
    status: 'completed',
    model: 'scripted',
    output: [item],
    error: null,
    incomplete_details: null,
    instructions: null,
    metadata: {},
    parallel_tool_calls: false,
    tool_choice: 'auto',
    tools: [],
    temperature: 1,
    top_p: 1,
    usage: {
      input_tokens: 1,
      input_tokens_details: { cached_tokens: 0 },
      output_tokens: 1,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: 2,
    },
  };
}
