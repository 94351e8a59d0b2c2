module Lendery
  module Loans
    PERIOD = 7
    RENEWALS = 2

    class Refused < StandardError; end

    module_function

    def check_out(item, member, today = Date.today)
      raise Refused, 'membership' unless member.may_borrow?
      raise Refused, 'induction needed' unless member.trained_for?(item)
      raise Refused, 'waiting for somebody else' if Holds.ahead_of?(item, member)

      Loan.create(item: item, member: member, out_on: today, due_on: OpeningHours.next_open(today + PERIOD))
    end

    def check_in(loan, condition:, today: Date.today)
      loan.update(returned_on: today, condition: condition)
      Deposits.settle(loan)
      Holds.wake_next(loan.item)
    end

    def renew(loan)
      raise Refused, 'limit' if loan.renewals >= RENEWALS
      raise Refused, 'requested by others' if Holds.any?(loan.item)

      loan.update(due_on: loan.due_on + PERIOD, renewals: loan.renewals + 1)
    end

    def overdue(today = Date.today)
      Loan.where(returned_on: nil).where { due_on < today }.all
    end
  end
end
