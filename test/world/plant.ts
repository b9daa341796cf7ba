import { execFile } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import type { PlantedBug } from './planted.ts';
import type { Result } from './run.ts';

/** A copy of what the scenarios run, in which bugs are planted. */
export function openCopy() {
  const copy = mkdtempSync(join(tmpdir(), 'planted-'));
  for (const folder of ['functions', 'schemas', 'test/world', 'test/support']) cpSync(folder, join(copy, folder), { recursive: true });
  cpSync('package.json', join(copy, 'package.json'));
  symlinkSync(resolve('node_modules'), join(copy, 'node_modules'));

  return {
    /**
     * Plants one bug and looks for it.
     * @throws Error if the line is not there exactly once
     */
    async plant({ name, file, line, becomes, caughtBy }: PlantedBug, options: { seconds: number; seed: number }): Promise<Result> {
      const path = join(copy, file);
      const source = readFileSync(path, 'utf8');
      if (source.split(line).length !== 2) throw new Error(`"${name}" cannot be planted: its line is not in ${file} exactly once.`);
      writeFileSync(
        path,
        source.replace(line, () => becomes),
      );
      const program = `import { run } from './test/world/run.ts';
        console.log(JSON.stringify(await run(${JSON.stringify(caughtBy)}, ${JSON.stringify(options)})));`;
      try {
        const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module-typescript', '--eval', program], {
          cwd: copy,
        });
        return JSON.parse(stdout.trim().split('\n').at(-1) ?? '');
      } finally {
        writeFileSync(path, source);
      }
    },
    close: () => rmSync(copy, { recursive: true }),
  };
}
