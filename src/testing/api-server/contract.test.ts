// The double against the contract, without sockets. integration/api-server-contract.test.ts has real ones.
import { realClock } from '../../base/clock.ts';
import { apiServerContract } from './contract.ts';
import { ApiServerDouble, adminUser, nodeUser } from './double.ts';
import { memoryClient } from './memory-client.ts';

apiServerContract('the double, in memory', () => {
  const double = new ApiServerDouble({ clock: realClock, schedule: false });
  double.store.compact();
  return Promise.resolve({
    admin: memoryClient(double, realClock, adminUser).client,
    asNode: (name) => memoryClient(double, realClock, nodeUser(name)).client,
    close: () => {
      double.close();
      return Promise.resolve();
    },
  });
});
