import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { saveSession } from '../../bin/cli/session.ts';
import { writeJson } from '../../bin/local/files.ts';
import { startGate } from './gate.ts';
import { formatTable, inMb } from './load.ts';
import { runProcess } from './workers.ts';

/** A command of the command line that measures itself. */
export interface CommandTask {
  words: readonly string[];
}

export interface CommandReport {
  exitCode: number;
  elapsedMs: number;
  processorMs: number;
  maxResidentBytes: number;
}

/** Five operations on each resource, and schemas that several resources share. */
function makeDocument(operations: number) {
  const refer = (kind: string, name: string) => ({ $ref: `#/components/${kind}/${name}` });
  const json = (schema: object) => ({ content: { 'application/json': { schema } } });
  const text = { type: 'string', maxLength: 200 };
  const schemas = Object.fromEntries(
    Array.from({ length: 20 }, (_, at) => [
      `Part${at}`,
      {
        type: 'object',
        required: ['name'],
        properties: {
          ...Object.fromEntries(Array.from({ length: 10 }, (_, member) => [`text_${member}`, { ...text, description: 'Any text.' }])),
          name: text,
          count: { type: 'integer', minimum: 0 },
          ...(at % 2 === 0 && { other: refer('schemas', `Part${at + 1}`) }),
        },
      },
    ]),
  );
  const pathsOf = (at: number) => {
    const resource = `resource_${at}`;
    const part = refer('schemas', `Part${at % 20}`);
    const answer = { responses: { 200: { description: 'Done', ...json(part) } } };
    const titled = (verb: string) => ({ operationId: `${verb}_${resource}`, summary: `${verb} ${resource}`, ...answer });
    const limit = { name: 'limit', in: 'query', schema: { type: 'integer', maximum: 100 } };
    const id = { name: 'id', in: 'path', required: true, schema: text };
    return {
      [`/${resource}`]: { get: { ...titled('list'), parameters: [limit] }, post: { ...titled('create'), requestBody: json(part) } },
      [`/${resource}/{id}`]: {
        parameters: [id],
        get: titled('get'),
        put: { ...titled('replace'), requestBody: json(part) },
        delete: { ...titled('delete'), responses: { 204: { description: 'Done' } } },
      },
    };
  };
  const resources = Array.from({ length: Math.ceil(operations / 5) }, (_, at) => pathsOf(at));
  return {
    openapi: '3.1.0',
    info: { title: 'Benchmark', version: '1' },
    servers: [{ url: 'https://bench.example' }],
    paths: Object.assign({}, ...resources),
    components: { schemas },
  };
}

const inSeconds = (ms: number): string => (ms / 1_000).toFixed(1);

/** Imports a document of each size into a new gate, imports it again, compares and exports it, each in its own process. */
export async function measureImports({ operations }: { operations: string }): Promise<void> {
  for (const size of operations.split(',').map(Number)) {
    const folder = await mkdtemp(join(tmpdir(), 'intent-gate-bench-'));
    process.env.INTENT_GATE_HOME = join(folder, 'home');
    try {
      await using benched = await startGate();
      const { stop, signIn, definitionOf, kmsOperations, ...description } = benched.stack;
      writeJson(join(folder, 'stack.json'), description);
      await saveSession(description.base_url, { kind: 'local', stack_file: join(folder, 'stack.json') });
      const [document, registry] = [join(folder, 'document.json'), join(folder, 'registry.yaml')];
      await writeFile(document, JSON.stringify(makeDocument(size)));
      const commands: Record<string, string[]> = {
        'dry run': ['import', document, '--dry-run'],
        import: ['import', document],
        'import again': ['import', document],
        export: ['export', '--output', registry],
        diff: ['diff', registry],
      };
      const rows = [];
      for (const [name, words] of Object.entries(commands)) {
        const task: CommandTask = { words: ['--url', description.base_url, ...words] };
        const report = await runProcess<CommandReport>('./import-worker.ts', task, {
          stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
          execArgv: [],
        });
        if (report.exitCode !== 0) throw new Error(`${name} ended with ${report.exitCode}`);
        rows.push([name, inSeconds(report.elapsedMs), inSeconds(report.processorMs), inMb(report.maxResidentBytes)]);
      }
      console.log(`${formatTable([[`${size} operations`, 'seconds', 'processor', 'memory'], ...rows])}\n`);
    } finally {
      await rm(folder, { recursive: true });
    }
  }
}
