import { type AskedGist, compare, type Gist, type Likeness } from '../likeness.ts';
import type { Parts } from './parts.ts';

/** The uids of the entries of an index, and their gists. They are kept in memory, and in the file only by {@link Gists.save}. */
export interface Gists {
  set(id: number, uid: string, gist: Gist): void;
  remove(id: number): void;
  /** Of an entry that is there. */
  uidOf(id: number): string;
  /** Of a question and an entry that is there. */
  likeness(question: AskedGist, id: number): Likeness;
  save(): void;
}

/** An entry's gist is a part of a list. */
interface Entry {
  uid: string;
  list: Int32Array;
  start: number;
  end: number;
}

/** Opens the gists that a file keeps; none if it keeps none. */
export function openGists(parts: Parts): Gists {
  const list = new Int32Array(parts.read('list'));
  const ids = new Int32Array(parts.read('ids'));
  const ends = new Uint32Array(parts.read('ends'));
  const uids = new TextDecoder().decode(parts.read('uids')).split('\n');
  const entries = new Map<number, Entry>();
  for (let at = 0; at < ids.length; at++)
    entries.set(ids[at] as number, { uid: uids[at] as string, list, start: ends[at - 1] ?? 0, end: ends[at] as number });

  return {
    set: (id, uid, gist) => void entries.set(id, { uid, list: gist, start: 0, end: gist.length }),
    remove: (id) => void entries.delete(id),
    uidOf: (id) => (entries.get(id) as Entry).uid,
    likeness(question, id) {
      const { list, start } = entries.get(id) as Entry;
      return compare(question, list, start);
    },
    save() {
      const saved = [...entries.values()];
      const savedEnds = new Uint32Array(saved.length);
      for (const [at, { start, end }] of saved.entries()) savedEnds[at] = (savedEnds[at - 1] ?? 0) + end - start;
      const savedList = new Int32Array(savedEnds.at(-1) ?? 0);
      for (const [at, { list, start, end }] of saved.entries()) savedList.set(list.subarray(start, end), savedEnds[at - 1] ?? 0);
      parts.write('list', savedList);
      parts.write('ids', Int32Array.from(entries.keys()));
      parts.write('ends', savedEnds);
      parts.write('uids', new TextEncoder().encode(saved.map(({ uid }) => uid).join('\n')));
    },
  };
}
