/** Something that an import does differently from what the document says, and the place in the document. */
export interface Note {
  /** JSON pointer */
  path: string;
  /** what was done */
  note: string;
}

export type TakeNote = (path: string, note: string) => void;

/** Collects notes. What concerns several operations is noted once. */
export function openNotes(): { take: TakeNote; all(): Note[] } {
  const notes = new Map<string, Note>();
  return {
    take(path, note) {
      const key = `${path}\n${note}`;
      if (!notes.has(key)) notes.set(key, { path, note });
    },
    all: () => [...notes.values()],
  };
}
