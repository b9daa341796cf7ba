/** Files that somebody has dropped or chosen, by their paths below what was dropped. */
export interface Dropped {
  /** what people call it */
  name: string;
  files: Map<string, File>;
}

/** Most files of a folder. */
const maxFiles = 5_000;

const isRead = (path: string): boolean => /\.(json|ya?ml)$/i.test(path) && !/(^|\/)(\.|node_modules\/)/.test(path);

/**
 * The files of a field; undefined if none was chosen.
 * @throws Error if none of them can be read
 */
export const chosenFiles = async (files: FileList | null): Promise<Dropped | undefined> =>
  toDropped([...(files ?? [])].map((file) => [file.webkitRelativePath || file.name, file]));

/**
 * The files that were dropped, also those in folders. Has to be called before anything is waited for.
 * @throws Error if there are too many, or none that can be read
 */
export async function droppedFiles({ items, files }: DataTransfer): Promise<Dropped | undefined> {
  const entries = [...items].flatMap((item) => item.webkitGetAsEntry() ?? []);
  // nothing but files has no entries in some browsers
  if (entries.length === 0) return chosenFiles(files);
  const found: [string, File][] = [];
  for (const entry of entries) await collect(entry, found);
  return toDropped(found);
}

async function collect(entry: FileSystemEntry, found: [string, File][]): Promise<void> {
  if (isFile(entry)) {
    found.push([entry.fullPath.slice(1), await new Promise<File>((resolve, reject) => entry.file(resolve, reject))]);
    if (found.length > maxFiles) throw new Error(`There are more than ${maxFiles} files. Drop the folder of the document alone.`);
    return;
  }
  const reader = (entry as FileSystemDirectoryEntry).createReader();
  for (;;) {
    // a folder is read some entries at a time
    const some = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject));
    if (some.length === 0) return;
    for (const inner of some) if (!inner.isFile || isRead(inner.fullPath.slice(1))) await collect(inner, found);
  }
}

const isFile = (entry: FileSystemEntry): entry is FileSystemFileEntry => entry.isFile;

/** One file is taken whatever its name is. */
function toDropped(found: [path: string, file: File][]): Dropped | undefined {
  const read = found.length === 1 ? found : found.filter(([path]) => isRead(path));
  const [[path = ''] = []] = read;
  if (read.length === 0) {
    if (found.length > 0) throw new Error('There is no JSON or YAML file in what you have dropped.');
    return undefined;
  }
  const isFolder = read.every(([other]) => other.includes('/') && other.split('/')[0] === path.split('/')[0]);
  return { name: isFolder ? (path.split('/')[0] ?? '') : read.length === 1 ? path : `${read.length} files`, files: new Map(read) };
}
