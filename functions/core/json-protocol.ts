import { HttpRequest, type HttpResponse, loadJsonRpcErrorCode } from '@smithy/core/protocols';
import type { TypeRegistry } from '@smithy/core/schema';

type Json = Record<string, unknown>;

type StaticErrorSchema = NonNullable<ReturnType<TypeRegistry['getBaseException']>>;

/** What an SDK client passes to its protocol. */
interface ProtocolSettings {
  /** prefix of operation names in `x-amz-target` */
  serviceTarget: string;
  /** the client's error classes */
  errorTypeRegistries: readonly TypeRegistry[];
}

type Endpoint = Pick<HttpRequest, 'protocol' | 'hostname' | 'port' | 'path'>;

/** Encodes bytes in base64. It reads them from the object, because `value` is already the result of `Buffer.toJSON`. */
function encodeBytes(this: Json, name: string, value: unknown): unknown {
  const given = this[name];
  return given instanceof Uint8Array ? Buffer.from(given).toString('base64') : value;
}

/** In DynamoDB's JSON, a string member `B` is always bytes: the value of an attribute named `B` is an object. */
const decodeBytes = (name: string, value: unknown): unknown =>
  name === 'B' && typeof value === 'string' ? Buffer.from(value, 'base64') : value;

const parse = (text: string): Json => JSON.parse(text || '{}', /"B"\s*:/.test(text) ? decodeBytes : undefined);

/**
 * AWS JSON 1.0 for operations whose input and output are plain JSON, except for bytes in DynamoDB attributes. The SDK's own protocol looks up a schema
 * for every member. Errors are instances of the client's error classes.
 */
export class JsonProtocol {
  protected readonly version: string = '1.0';
  /** Matches JSON of inputs that may hold bytes: encoding them takes several times as long. */
  protected readonly holdsBytes: RegExp = /"BS?":[[{]/;
  readonly #settings: ProtocolSettings;

  constructor(settings: ProtocolSettings) {
    this.#settings = settings;
  }

  setSerdeContext(): void {}

  async serializeRequest({ name }: { name: string }, input: object, { endpoint }: { endpoint(): Promise<Endpoint> }): Promise<HttpRequest> {
    const target = await endpoint();
    const plain = JSON.stringify(input);
    const body = this.holdsBytes.test(plain) ? JSON.stringify(input, encodeBytes) : plain;
    const headers = {
      host: target.port === undefined ? target.hostname : `${target.hostname}:${target.port}`,
      'content-type': `application/x-amz-json-${this.version}`,
      'content-length': String(Buffer.byteLength(body)),
      'x-amz-target': `${this.#settings.serviceTarget}.${name}`,
    };
    return new HttpRequest({ ...target, method: 'POST', headers, body });
  }

  async deserializeResponse(_operation: unknown, _context: unknown, response: HttpResponse): Promise<object> {
    const answer = parse(String(response.body));
    const $metadata = { httpStatusCode: response.statusCode, requestId: response.headers['x-amzn-requestid'] };
    if (response.statusCode >= 300) throw this.#errorOf(answer, response, $metadata);
    return Object.assign(answer, { $metadata });
  }

  /** An error of the client's class for this error name, or else of its base class. */
  #errorOf(answer: Json, response: HttpResponse, $metadata: object): Error {
    const { errorTypeRegistries: registries } = this.#settings;
    const name = loadJsonRpcErrorCode(response, answer) ?? 'Unknown';
    const isNamed = (schema: unknown) => Array.isArray(schema) && schema[2] === name;
    const schemas = [...registries.map((one) => one.find(isNamed)), ...registries.map((one) => one.getBaseException())];
    const [ErrorClass = Error] = schemas.flatMap((schema) => (schema ? registries[0]?.getErrorCtor(schema as StaticErrorSchema) : []));
    const message = answer.message ?? answer.Message ?? 'UnknownError';
    const $fault = response.statusCode < 500 ? 'client' : 'server';
    return new ErrorClass({ ...answer, name, message, $fault, $metadata });
  }
}

/** AWS JSON 1.1, which for these operations differs from 1.0 only in its name. */
export class JsonProtocol11 extends JsonProtocol {
  protected override readonly version = '1.1';
  protected override readonly holdsBytes = /^/;
}
