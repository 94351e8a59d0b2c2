require 'bcrypt'

module Lendery
  class Member < Sequel::Model
    one_to_many :loans

    MAX_OPEN = 5

    def password=(plain)
      self.digest = BCrypt::Password.create(plain)
    end

    def password?(plain)
      BCrypt::Password.new(digest) == plain
    end

    # annual fee, reckoned from the day they joined
    def paid_up?(today = Date.today)
      !paid_until.nil? && paid_until >= today
    end

    def may_borrow?
      paid_up? && !banned && loans_dataset.where(returned_on: nil).count < MAX_OPEN
    end

    def trained_for?(item)
      return true unless item.dangerous

      trainings_dataset.where(category: item.category).any?
    end
  end
end
