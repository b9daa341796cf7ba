import { afterAll, expect, test } from '@jest/globals';
import { openRegistry } from '../../functions/core/registry/registry.ts';
import { openSqliteEngine } from '../../functions/core/search/sqlite/engine.ts';
import { createAction as createList } from '../../functions/list-service-intents.ts';
import { createAction as createSearch } from '../../functions/search-intents.ts';
import { startAdmins } from '../support/admins.ts';
import { invoke, someAdmin, uidsOfPages } from '../support/invoke.ts';
import { openPolicy } from '../support/policy.ts';
import { intentOf, serviceNamed } from '../support/records.ts';
import { startRegistry } from '../support/registry.ts';

const [registry, admins] = await Promise.all([startRegistry(), startAdmins()]);
const { services, intents } = registry;
const engine = openSqliteEngine(openRegistry(registry.table));
afterAll(async () => {
  await engine.close();
  await Promise.all([registry.stop(), admins.stop()]);
});

const search = createSearch({ engine, findPolicy: openPolicy() });
const list = createList({ ...registry, verifyAdmin: admins.verifyAdmin });

const endpoints: Record<string, (service_id: string, name: string) => (query: Record<string, string>) => ReturnType<typeof invoke>> = {
  'a list': (service_id) => (query) => invoke(list, 'GET /api/services/{service_id}/intents', { path: { service_id }, query }),
  'a search': (_, namespace) => (query) => invoke(search, 'GET /api/intents/search', { query: { namespace, ...query } }),
};

let made = 0;

test.each(Object.keys(endpoints))(
  '%s by links misses no intent that stood throughout, and shows none twice, while others change',
  async (endpoint) => {
    const name = `pages-${made++}.example`;
    const uidOf = (slug: string) => `${name}:${slug}:v1`;
    const { service_id } = await services.create(serviceNamed(name));
    const create = (slug: string) => intents.create(service_id, intentOf(uidOf(slug)));
    for (const slug of ['i0', 'i1', 'i2', 'i3', 'i4', 'i5', 'i6']) await create(slug);
    const ask = endpoints[endpoint]?.(service_id, name) as (query: Record<string, string>) => ReturnType<typeof invoke>;
    const slugs = async (change: () => Promise<unknown>) =>
      (await uidsOfPages(ask, change)).map((page) => page.map((uid) => uid.split(':')[1]));

    expect(await slugs(() => intents.as(someAdmin).remove(uidOf('i0'), () => true))).toEqual([
      ['i0', 'i1', 'i2'],
      ['i3', 'i4', 'i5'],
      ['i6'],
    ]);
    expect(await slugs(() => create('a0'))).toEqual([
      ['i1', 'i2', 'i3'],
      ['i4', 'i5', 'i6'],
    ]);
    const replaceAll = async () => {
      for (const slug of ['i3', 'i4', 'i5', 'i6']) await intents.as(someAdmin).remove(uidOf(slug), () => true);
      for (const slug of ['a1', 'a2', 'a3', 'a4']) await create(slug);
    };
    expect(await slugs(replaceAll)).toEqual([['a0', 'i1', 'i2'], []]);
  },
);
