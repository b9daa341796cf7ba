import { expect, test } from '@jest/globals';
import type { Parameter as ClientParameter } from '../../client/types.ts';
import type { RawNumber } from '../../schemas/number.ts';
import { type Parameter, parameter } from '../../schemas/parameter.ts';

test("the client's type of a parameter has the members of the schema", () => {
  const inSchema: Record<keyof ClientParameter, unknown> = parameter.shape;
  const inClient = {} as Required<ClientParameter> satisfies Record<keyof Parameter, unknown>;
  const asClientHasIt = (given: { [Name in keyof Parameter]-?: Exclude<Parameter[Name], undefined | RawNumber> }): ClientParameter => given;
  expect([inSchema, inClient, asClientHasIt]).toHaveLength(3);
});
