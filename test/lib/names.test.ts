import { describe, expect, test } from '@jest/globals';
import { App, NestedStack, Stack } from 'aws-cdk-lib';
import { Construct } from 'constructs';
import { namesOf } from '../../lib/names.ts';

const app = new App();
const [orders, billing] = ['Orders', 'Billing'].map((name) => new Stack(app, name)) as [Stack, Stack];
const renamed = new Stack(app, 'Another', { stackName: 'My-Aws-Cognito-Stack' });

/** Where gates may be: each place twice would be the same gate. */
const gates = {
  'in a stack': namesOf(orders, 'Gate'),
  'beside it': namesOf(orders, 'Gate2'),
  'in another stack': namesOf(billing, 'Gate'),
  'in a construct': namesOf(new Construct(orders, 'Gate-A'), 'B'),
  'in a construct of another name': namesOf(new Construct(orders, 'Gate'), 'A-B'),
  'in a nested stack': namesOf(new NestedStack(orders, 'Nested'), 'Gate'),
  'in a nested stack of another stack': namesOf(new NestedStack(billing, 'Nested'), 'Gate'),
  'in a stack with a name of its own': namesOf(renamed, 'Gate'),
};

describe('names of gates', () => {
  test('differ, wherever the gates are', () => {
    for (const part of ['name', 'slug'] as const) {
      expect(new Set(Object.values(gates).map((names) => names[part])).size).toBe(Object.keys(gates).length);
    }
  });

  test.each(Object.entries(gates))('%s are such as AWS takes', (_, { name, slug }) => {
    expect(slug).toMatch(/^[0-9a-f]{12}$/);
    expect(name).toMatch(/^[A-Za-z0-9-]{14,53}$/);
  });

  test('stay the same, and are readable', () => {
    expect(gates['in a stack'].name).toBe('Orders-Gate-136128643de0');
    expect(gates['in a stack with a name of its own'].name).toMatch(/^My-Aws-Cognito-Stack-Gate-/);
  });
});
