/** Dropped or chosen files by path, or an address from which the gate reads a document. */
export interface Dropped {
  /** display name of the file or folder, or the address */
  name: string;
  files: Map<string, File>;
  isAddress?: boolean;
  /** the service to import into, whose credential the gate sends if the address is that of a server */
  serviceId?: string | undefined;
}

/** Maximum number of files in a folder. */
const maxFiles = 5_000;

const isRead = (path: string): boolean => /\.(json|ya?ml)$/i.test(path) && !/(^|\/)(\.|node_modules\/)/.test(path);

/**
 * The files in a file input; undefined if none was chosen. A single file is accepted whatever its name.
 * @throws Error if there are too many files, or none of a supported type
 */
export function chosenFiles(files: FileList | null): Dropped | undefined {
  const found = [...(files ?? [])].map((file): [path: string, file: File] => [file.webkitRelativePath || file.name, file]);
  const read = found.length === 1 ? found : found.filter(([path]) => isRead(path));
  const [[path = ''] = []] = read;
  if (found.length === 0) return undefined;
  if (read.length === 0) throw new Error('None of the files that you have dropped is JSON or YAML.');
  if (read.length > maxFiles) throw new Error(`There are more than ${maxFiles} files. Drop only the folder of the document.`);
  const [folder = ''] = path.split('/');
  const isFolder = read.every(([other]) => other.startsWith(`${folder}/`));
  return { name: isFolder ? folder : read.length === 1 ? path : `${read.length} files`, files: new Map(read) };
}
